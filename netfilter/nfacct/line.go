package nfacct

import "fmt"

// line is the object as list prints it, with the end of the line.
func (o Object) line() string {
	text := fmt.Sprintf("{ pkts = %020d, bytes = %020d", o.Packets, o.Bytes)
	if o.Mode != noQuota {
		over := "no"
		if o.Over {
			over = "yes"
		}
		text += fmt.Sprintf(", quota = %020d, mode = %s, overquota = %s", o.Quota, o.Mode, over)
	}
	return text + " } = " + o.Name + ";\n"
}

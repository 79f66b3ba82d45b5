package nfacct

import (
	"fmt"
	"regexp"
	"strconv"
)

// Line is the object as list prints it, with the end of the line.
func (o Object) Line() string {
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

// listLine is a line of list; a quota, if there is one, stands in the middle.
var listLine = regexp.MustCompile(`^\{ pkts = (\d+), bytes = (\d+)` +
	`(?:, quota = (\d+), mode = (byte|packet), overquota = (?:yes|no|\d))? \} = (\S{1,31});$`)

// ParseLine reads a line of list with all that it says, without its end.
func ParseLine(line string) (o Object, ok bool) {
	m := listLine.FindStringSubmatch(line)
	if m == nil {
		return o, false
	}
	numbers := [3]uint64{}
	for i, text := range []string{m[1], m[2], m[3]} {
		if text == "" {
			continue
		}
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return o, false
		}
		numbers[i] = n
	}
	return Object{Name: m[5], Packets: numbers[0], Bytes: numbers[1], Mode: m[4], Quota: numbers[2]}, true
}

package ailments

import "fmt"

// end is how a connection ended.
type end string

// The ends.
const (
	answered    end = "answered"
	refused     end = "refused"     // by a reset, or by an ICMP error of a closed port
	unreachable end = "unreachable" // by another ICMP error, or the client's own kernel has no way
	silent      end = "silent"      // nothing came in time
	notSent     end = "not sent"    // the client's own kernel refuses to send it
)

// answer is what came of a connection.
type answer struct {
	end end
	// server is who answered, and client the address that it saw.
	server, client string
}

func (a answer) String() string {
	if a.end == answered {
		return fmt.Sprintf("%s answers, and sees %s", a.server, a.client)
	}
	return string(a.end)
}

package snapshot

import (
	"fmt"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// Trace walks a packet through a Host built from the snapshot. The doubts of the result say what this packet met that was not
// walked or read.
func (s *NodeSnapshot) Trace(in inet.Input, options HostOptions, walk packetsim.WalkOptions) (packetsim.TraceResult, error) {
	host, err := NewHost(s, options)
	if err != nil {
		return packetsim.TraceResult{}, err
	}
	result, err := host.Trace(in, walk)
	if err != nil {
		return packetsim.TraceResult{}, err
	}
	d := newDoubter(s, host, in, result.Outcomes)
	result.Doubts = s.Doubts(host, in, result.Outcomes)
	result.Notes = append(d.unreadNotes(), s.leftOutNote(options)...)
	return result, nil
}

// leftOutNote names the backend whose rules were chosen not to be walked.
func (s *NodeSnapshot) leftOutNote(o HostOptions) []string {
	for _, backend := range s.Dialects() {
		if o.Dialect != "" && backend != o.Dialect {
			return []string{fmt.Sprintf("the rules of iptables-%s, which the kernel runs too, are left out", backend)}
		}
	}
	return nil
}

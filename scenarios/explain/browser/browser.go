// Package browser has the code that its two programs share: a trace of a packet as text, and as a page. They exist to be built as
// WebAssembly, so that `make browser-size` can say how much a browser would have to load for each.
package browser

import (
	"io"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/explain/story"
)

// Story walks a packet, such as "udp 10.0.0.1:40000 > 10.9.0.1:53 in eth0", through the node whose snapshot is read.
func Story(node io.Reader, packet string) (*story.Story, error) {
	in, err := inet.ParseInput(packet)
	if err != nil {
		return nil, err
	}
	read, err := snapshot.Read("snapshot", node)
	if err != nil {
		return nil, err
	}
	result, err := read.Trace(in, snapshot.HostOptions{}, packetsim.WalkOptions{})
	if err != nil {
		return nil, err
	}
	told := story.Of(result, story.Options{Host: read.Hostname})
	return &told, nil
}

package main

import (
	"fmt"

	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/packetsim/snapshot/parcel"
)

// pack is a snapshot as a parcel of at most limit bytes. One that would be larger goes without the node's connections, which are most of it
// on a busy node, and says so: the log of a container that grows beyond what the kubelet keeps in a file loses its beginning.
func pack(node *snapshot.NodeSnapshot, id string, limit int) ([]byte, error) {
	text, err := packed(node, id)
	if err != nil || len(text) <= limit {
		return text, err
	}
	less := *node
	less.Conntrack = nil
	less.Unread = append(append([]snapshot.Unread{}, node.Unread...), snapshot.Unread{What: snapshot.UnreadConntrack,
		Why: fmt.Sprintf("left out: with its %d connections the snapshot has %d bytes, and the log of a container holds %d",
			len(node.Conntrack), len(text), limit)})
	before := len(text)
	if text, err = packed(&less, id); err != nil {
		return nil, err
	}
	if len(text) > limit {
		return nil, fmt.Errorf("the snapshot has %d bytes, and without its connections %d: more than the %d that the log of a container holds; "+
			"run the program on the node, and give its output as a file", before, len(text), limit)
	}
	return text, nil
}

func packed(node *snapshot.NodeSnapshot, id string) ([]byte, error) {
	document, err := written(node)
	if err != nil {
		return nil, err
	}
	return parcel.Pack(id, document)
}

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios/explain/names"
)

// writeJSON writes a document as JSON that people can read too.
func writeJSON(w io.Writer, document any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false) // the ">" of a packet
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(document); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}

// writeHead writes an answer's first line, what was not read, and the kinds of packets whose fate is not known.
func writeHead(s streams, answer string, unread, unknown []string) {
	fmt.Fprintln(s.out, answer)
	for _, text := range unread {
		fmt.Fprintf(s.out, "not read: %s\n", text)
	}
	for _, text := range unknown {
		fmt.Fprintf(s.out, "\nnot known: %s\n", text)
	}
}

// packetKind is one kind of packets of all that there are, as diff and ask print it.
type packetKind struct {
	Family netfilter.Family `json:"family"`
	Class  string           `json:"class"`
	// Share is how much of all packets of the family and class are of the kind.
	Share float64 `json:"share"`
	// Packets is a range of them, If the conditions that it depends on, and Packet a likely one, with the names of its Ends.
	Packets string   `json:"packets"`
	If      []string `json:"if,omitempty"`
	Packet  string   `json:"packet"`
	Ends    string   `json:"ends,omitempty"`
}

func kindOf(space *forall.Space, share float64, likely *inet.Input, book *names.Book) packetKind {
	k := packetKind{
		Family: space.Family, Class: space.Class.String(), Share: share,
		Packets: space.String(), Packet: likely.String(), Ends: witnessEnds(book, likely),
	}
	for _, n := range space.Names {
		if n.Holds {
			k.If = append(k.If, n.Name)
		} else {
			k.If = append(k.If, "not "+n.Name)
		}
	}
	return k
}

// write writes what is said of the packets. more ends the first line.
func (k *packetKind) write(s streams, more string) {
	fmt.Fprintf(s.out, "\n%s of all %s packets of IPv%d%s\n", shareText(k.Share), k.Class, k.Family, more)
	writeField(s, "such as", k.Packets)
	writeField(s, "if", strings.Join(k.If, " and "))
	writeField(s, "packet", k.Packet)
	writeField(s, "ends", k.Ends)
}

// writeField writes a line of what is said of packets, if there is something to say.
func writeField(s streams, name, text string) {
	if text != "" {
		fmt.Fprintf(s.out, "  %-8s %s\n", name, text)
	}
}

// shareText is a share for people.
func shareText(share float64) string {
	if share >= 0.001 {
		return fmt.Sprintf("%.2g%%", share*100)
	}
	return fmt.Sprintf("%.2g", share)
}

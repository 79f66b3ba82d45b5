package differ

import (
	"fmt"
	"slices"

	"github.com/chainwalk/chainwalk/kindtest/internal/toolrun"
	"github.com/chainwalk/chainwalk/netfilter"
)

// walkCase is a ruleset and the packets that are sent through it, with the kernel's answer if it is known.
type walkCase struct {
	Title   string            `json:"title,omitempty"`
	Dialect netfilter.Dialect `json:"dialect" required:"true"`
	Family  int               `json:"family"`
	// NFAcct are accounting objects and Sets the input of "ipset restore", made before the rules.
	NFAcct []string `json:"nfacct,omitempty"`
	Sets   string   `json:"sets,omitempty"`
	Rules  string   `json:"rules"` // input of iptables-restore
	// OtherRules is the input of the other dialect's iptables-restore. The legacy tools are run first, so that chains of nft go first. Only
	// steps in the rules of Dialect are compared, but counters of both.
	OtherRules string `json:"beside,omitempty"`
	// NFT is the input of nft, whose tables take the place of those of Rules. They are named like those of iptables, and their base chains by
	// their hooks.
	NFT    string        `json:"nft,omitempty"`
	Sends  []send        `json:"sends"`
	Kernel *kernelAnswer `json:"kernel,omitempty"`
}

// send is one packet of a case, or the end of all tracked connections.
type send struct {
	// From is client, server or node. A packet that answers another comes from where that one was seen.
	From   string `json:"from,omitempty"`
	Packet string `json:"packet,omitempty"` // in the syntax of "chainwalk trace", without a device
	Quotes string `json:"quotes,omitempty"` // what an ICMP error quotes
	// Answers is the number (from 1) of the send that this packet answers, as it came out of the node; About is the one that an ICMP error is
	// about.
	Answers int `json:"answers,omitempty"`
	About   int `json:"about,omitempty"`
	// Flags and Type belong to a packet that answers.
	Flags       string `json:"flags,omitempty"`
	Type        string `json:"type,omitempty"`
	OutOfWindow bool   `json:"outOfWindow,omitempty"`
	// Chunk is the one chunk of an SCTP packet; INIT if it is not given.
	Chunk string `json:"chunk,omitempty"`
	// Forget deletes the tracked connections instead of sending.
	Forget bool `json:"forget,omitempty"`
}

// kernelAnswer is what the kernel did with a case.
type kernelAnswer struct {
	Restore      toolrun.Run   `json:"restore,omitempty"`
	OtherRestore toolrun.Run   `json:"besideRestore,omitempty"`
	Sends        []observation `json:"sends,omitempty"`
	endState
}

// observation is what one packet met and what came of it.
type observation struct {
	// Steps are the lines of the trace, Replies those of packets that the node made because of it.
	Steps   []string `json:"steps,omitempty"`
	Replies []string `json:"replies,omitempty"`
	// Seen are the packets that came out on each side, sorted: "client: tcp ...".
	Seen []string `json:"seen,omitempty"`
	// Connections are the tracked connections at that time, if one of them has a port that the kernel chose and no packet showed.
	Connections []string `json:"connections,omitempty"`
}

// endState is the state after the last packet.
type endState struct {
	Save      string   `json:"save,omitempty"`
	OtherSave string   `json:"besideSave,omitempty"`
	Conntrack []string `json:"conntrack,omitempty"`
	NFAcct    []string `json:"nfacctList,omitempty"`
}

func (c *walkCase) family() (netfilter.Family, error) {
	if c.Family != 4 && c.Family != 6 {
		return 0, fmt.Errorf("unknown family %d: want 4 or 6", c.Family)
	}
	return netfilter.Family(c.Family), nil
}

// other is the dialect that OtherRules are of.
func (c *walkCase) other() netfilter.Dialect { return c.Dialect.Other() }

// clone copies what shrinking changes.
func (c *walkCase) clone() *walkCase {
	n := *c
	n.Sends, n.NFAcct = slices.Clone(c.Sends), slices.Clone(c.NFAcct)
	return &n
}

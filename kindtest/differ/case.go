package differ

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/chainwalk/chainwalk/fakeipt"
	"go.yaml.in/yaml/v3"
)

// Case is a ruleset and the packets that are sent through it, with the kernel's answer if it is known.
type Case struct {
	Title   string          `yaml:"title,omitempty"`
	Dialect fakeipt.Dialect `yaml:"dialect"`
	Family  int             `yaml:"family"`
	// NFAcct are accounting objects and Sets the input of "ipset restore", made before the rules.
	NFAcct []string `yaml:"nfacct,omitempty"`
	Sets   string   `yaml:"sets,omitempty"`
	Rules  string   `yaml:"rules"` // input of iptables-restore
	Sends  []Send   `yaml:"sends"`
	Kernel *Answer  `yaml:"kernel,omitempty"`
}

// Send is one packet of a case, or the end of all tracked connections.
type Send struct {
	// From is client, server or node. A packet that answers another comes from where that one was seen.
	From   string `yaml:"from,omitempty"`
	Packet string `yaml:"packet,omitempty"` // in the syntax of "chainwalk trace", without a device
	Quotes string `yaml:"quotes,omitempty"` // what an ICMP error quotes
	// Answers is the number (from 1) of the send that this packet answers, as it came out of the node; About is the one that an ICMP error is
	// about.
	Answers int `yaml:"answers,omitempty"`
	About   int `yaml:"about,omitempty"`
	// Flags and Type are those of a packet that answers.
	Flags       string `yaml:"flags,omitempty"`
	Type        string `yaml:"type,omitempty"`
	OutOfWindow bool   `yaml:"outOfWindow,omitempty"`
	// Chunk is the one chunk of an SCTP packet; INIT if it is not given.
	Chunk string `yaml:"chunk,omitempty"`
	// Forget deletes the tracked connections instead of sending.
	Forget bool `yaml:"forget,omitempty"`
}

// Answer is what the kernel did with a case.
type Answer struct {
	Restore toolRun       `yaml:"restore,omitempty"`
	Sends   []Observation `yaml:"sends,omitempty"`
	End     `yaml:",inline"`
}

// Observation is what one packet met and what came of it.
type Observation struct {
	// Steps are the lines of the trace, Replies those of packets that the node made because of it.
	Steps   []string `yaml:"steps,omitempty"`
	Replies []string `yaml:"replies,omitempty"`
	// Seen are the packets that came out on each side, sorted: "client: tcp ...".
	Seen []string `yaml:"seen,omitempty"`
	// Connections are those that were tracked then, if one of them has a port that the kernel chose and no packet showed.
	Connections []string `yaml:"connections,omitempty"`
}

// End is the state after the last packet.
type End struct {
	Save      string   `yaml:"save,omitempty"`
	Conntrack []string `yaml:"conntrack,omitempty"`
	NFAcct    []string `yaml:"nfacctList,omitempty"`
}

func (c *Case) family() (fakeipt.Family, error) {
	if c.Family != 4 && c.Family != 6 {
		return 0, fmt.Errorf("unknown family %d: want 4 or 6", c.Family)
	}
	return fakeipt.Family(c.Family), nil
}

// clone copies what shrinking changes.
func (c *Case) clone() *Case {
	n := *c
	n.Sends, n.NFAcct = slices.Clone(c.Sends), slices.Clone(c.NFAcct)
	return &n
}

// readYAML reads one strict document.
func readYAML(name string, r io.Reader, into any) error {
	d := yaml.NewDecoder(r)
	d.KnownFields(true)
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := d.Decode(new(any)); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: want one document", name)
	}
	return nil
}

// writeYAML writes a document to a file of the folder, which is made if it is missing, and returns the file's name.
func writeYAML(folder, name string, document any) (string, error) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(document); err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(folder, name)
	return path, os.WriteFile(path, b.Bytes(), 0o644)
}

// readFile reads a case or text case from a file.
func readFile(path string, into any) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return readYAML(path, f, into)
}

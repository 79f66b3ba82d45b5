package certificate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

func isSnapshot(err error) bool { return errors.Is(err, snapshot.ErrIsSnapshot) }

// Read reads a certificate. Its error says what in the document is not as it must be; whether what it says holds, Check finds out.
func Read(r io.Reader) (*Certificate, error) {
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	c := &Certificate{}
	if err := d.Decode(c); err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("certificate: something stands behind it")
	}
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	return c, nil
}

func (c *Certificate) validate() error {
	switch {
	case c.Version != Version:
		return fmt.Errorf("version %d: this chainwalk reads version %d", c.Version, Version)
	case c.Chance != Ideal && c.Chance != Exact:
		return fmt.Errorf("chance %q: want ideal or exact", c.Chance)
	case len(c.Parts) == 0:
		return errors.New("it has no boxes")
	}
	for _, p := range c.Ignore {
		if p != Mark && p != Source && p != Detail {
			return fmt.Errorf("ignore %q: want mark, source or detail", p)
		}
	}
	for _, side := range []*Input{&c.Before, &c.After} {
		if side.Tools != "" && side.Tools != netfilter.Legacy && side.Tools != netfilter.NFT {
			return fmt.Errorf("%s: tools %q: want legacy or nft", side.Name, side.Tools)
		}
	}
	for i, d := range c.Fates {
		if err := d.check(); err != nil {
			return fmt.Errorf("fates %d: %w", i, err)
		}
	}
	type of struct {
		family netfilter.Family
		class  *class
	}
	known := map[of]bool{}
	for i := range c.Parts {
		part := &c.Parts[i]
		switch {
		case part.Family != netfilter.IPv4 && part.Family != netfilter.IPv6:
			return fmt.Errorf("family %d: want 4 or 6", part.Family)
		case part.class() == nil:
			return fmt.Errorf("class %q: want %s", part.Class, classNames)
		case known[of{part.Family, part.class()}]:
			return fmt.Errorf("family %d, class %s: it is there twice", part.Family, part.class().name)
		}
		known[of{part.Family, part.class()}] = true
		for n := range part.Boxes {
			if err := c.validateBox(part, &part.Boxes[n]); err != nil {
				return fmt.Errorf("%s: box %d: %w", part.name(), n, err)
			}
		}
	}
	return nil
}

func (c *Certificate) validateBox(part *Boxes, b *Box) error {
	for _, a := range []Addrs{b.Dst, b.Src} {
		if !a.First.IsValid() || a.First.Is6() != (part.Family == netfilter.IPv6) {
			return errors.New("its dst and src must be addresses of the family")
		}
	}
	switch {
	case b.Protos.Last > 255:
		return fmt.Errorf("protos %d: want numbers below 256", b.Protos.Last)
	case len(b.In) == 0:
		return errors.New("in: it has no device")
	case len(slices.Compact(slices.Sorted(slices.Values(b.In)))) != len(b.In):
		return errors.New("in: a device is there twice")
	}
	alike, differs := b.Fates != nil, b.Before != nil && b.After != nil && b.Witness != ""
	some := alike || b.Before != nil || b.After != nil || b.Witness != ""
	if b.Open != "" && some || b.Open == "" && alike == differs || alike && (b.Before != nil || b.After != nil || b.Witness != "") {
		return errors.New("want either fates, or before and after with a witness, or why it is open")
	}
	for _, n := range []*int{b.Fates, b.Before, b.After} {
		if n != nil && (*n < 0 || *n >= len(c.Fates)) {
			return fmt.Errorf("fates %d: there are %d", *n, len(c.Fates))
		}
	}
	if b.Witness != "" {
		in, err := inet.ParseInput(b.Witness)
		if err != nil {
			return fmt.Errorf("witness: %w", err)
		}
		if !b.has(part.class(), &in) {
			return fmt.Errorf("witness %s: it is no %s packet of the box", b.Witness, part.class().name)
		}
	}
	return nil
}

// has says whether a packet is one of a class of the box.
func (b *Box) has(of *class, in *inet.Input) bool {
	six := b.Dst.First.Is6()
	if !in.Src.IsValid() || in.Src.Is6() != six || in.Dst.Is6() != six {
		return false
	}
	at := [fields]value{dst: valueOf(in.Dst), dstPort: number(uint64(in.DstPort)), proto: number(uint64(in.Proto)), src: valueOf(in.Src),
		srcPort: number(uint64(in.SrcPort))}
	c := b.cell()
	for f, s := range c.spans {
		isPort := field(f) == dstPort || field(f) == srcPort
		if !s.has(at[f]) && (!isPort || in.Proto.HasPorts()) {
			return false
		}
	}
	usual, possible := of.packet(six, at, in.In)
	return possible && usual.Full() == in.Full() && slices.Contains(b.In, in.In)
}

// Write writes a certificate, a box in each line. The same certificate is always the same text.
func (c *Certificate) Write(w io.Writer) error {
	text, err := json.MarshalIndent(struct {
		Version int    `json:"version"`
		Before  Input  `json:"before"`
		After   Input  `json:"after"`
		Chance  Chance `json:"chance"`
		Ignore  []Part `json:"ignore"`
		Same    bool   `json:"same"`
	}{c.Version, c.Before, c.After, c.Chance, append([]Part{}, c.Ignore...), c.Same}, "", " ")
	if err != nil {
		return err
	}
	l := lines{w: w}
	l.text(string(text[:len(text)-2]) + ",\n \"fates\": [")
	each(&l, c.Fates, "\n  ")
	l.text("],\n \"parts\": [")
	for i := range c.Parts {
		part := &c.Parts[i]
		if i > 0 {
			l.text(",")
		}
		l.text(fmt.Sprintf("\n  {\"family\": %d, \"class\": %q, \"boxes\": [", part.Family, part.class().name))
		each(&l, part.Boxes, "\n   ")
		l.text("]}")
	}
	l.text("]\n}\n")
	return l.err
}

// lines writes until something fails.
type lines struct {
	w   io.Writer
	err error
}

func (l *lines) text(s string) {
	if l.err == nil {
		_, l.err = io.WriteString(l.w, s)
	}
}

// each writes values as a list, each in a line.
func each[T any](l *lines, values []T, line string) {
	for i := range values {
		text, err := json.Marshal(&values[i])
		if l.err = errors.Join(l.err, err); i > 0 {
			l.text(",")
		}
		l.text(line + string(text))
	}
}

package allpackets

import (
	"fmt"
	"io"
	"strings"
)

// WriteText writes the answer, and each difference for people to read.
func (d *Diff) WriteText(w io.Writer) error {
	var b strings.Builder
	writeHead(&b, d.Answer, d.Unread, d.Unknown)
	var list []told
	for i := range d.Differences {
		list = append(list, &d.Differences[i])
	}
	writeGroups(&b, list, d.All)
	return flush(w, &b)
}

func (d *Difference) write(w *strings.Builder) {
	d.writeKind(w, "")
	WriteField(w, "before", d.Before.String())
	for _, text := range d.DecidedBefore {
		WriteField(w, "  by", text)
	}
	WriteField(w, "after", d.After.String())
	for _, text := range d.DecidedAfter {
		WriteField(w, "  by", text)
	}
}

func flush(w io.Writer, b *strings.Builder) error {
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}

// writeHead writes an answer's first line, what was not read, and the kinds of packets whose fate is not known.
func writeHead(w io.Writer, answer string, unread, unknown []string) {
	fmt.Fprintln(w, answer)
	for _, text := range unread {
		fmt.Fprintf(w, "not read: %s\n", text)
	}
	for _, text := range unknown {
		fmt.Fprintf(w, "\nnot known: %s\n", text)
	}
}

// writeKind writes what is said of the packets. more ends the first line.
func (k *Kind) writeKind(w io.Writer, more string) {
	fmt.Fprintf(w, "\n%s of all %s packets of IPv%d%s\n", ShareText(k.Share), k.Class, k.Family, more)
	WriteField(w, "such as", k.Packets)
	WriteField(w, "if", strings.Join(k.If, " and "))
	WriteField(w, "packet", k.Packet)
	WriteField(w, "ends", k.Ends)
}

// WriteField writes a line of what is said of packets, if there is something to say.
func WriteField(w io.Writer, name, text string) {
	if text != "" {
		fmt.Fprintf(w, "  %-8s %s\n", name, text)
	}
}

// ShareText is a share for people.
func ShareText(share float64) string {
	if share >= 0.001 {
		return fmt.Sprintf("%.2g%%", share*100)
	}
	return fmt.Sprintf("%.2g", share)
}

// WriteText writes the answer, what was compared, the groups of nodes, and what the odd ones do, for people to read.
func (n *Nodes) WriteText(w io.Writer) error {
	var b strings.Builder
	writeHead(&b, n.Answer, n.Unread, n.Unknown)
	writeList(&b, "compared", "first packets "+strings.Join(n.Compared, ", "))
	writeList(&b, "left out", strings.Join(n.LeftOut, ", "))
	for i, group := range n.Groups {
		name := "odd"
		if i == 0 {
			name = "most"
		}
		if len(n.Groups) > 1 {
			WriteField(&b, name, strings.Join(group, ", "))
		}
	}
	var list []told
	for i := range n.Odd {
		list = append(list, &n.Odd[i])
	}
	writeGroups(&b, list, n.All)
	return flush(w, &b)
}

func (o *Oddity) write(w *strings.Builder) {
	fmt.Fprintf(w, "\n%s: %s of the packets %s, of IPv%d\n", strings.Join(o.Nodes, ", "), ShareText(o.Share), o.From, o.Family)
	WriteField(w, "such as", o.Packets)
	WriteField(w, "if", strings.Join(o.If, " and "))
	WriteField(w, "ends", o.Ends)
	WriteField(w, "packet", o.Packet)
	if o.PacketThere != o.Packet {
		WriteField(w, "as", o.PacketThere+" on "+o.Most)
	}
	WriteField(w, "odd", o.Here.String())
	for _, text := range o.DecidedHere {
		WriteField(w, "  by", text)
	}
	WriteField(w, "most", o.There.String())
	for _, text := range o.DecidedThere {
		WriteField(w, "  by", text)
	}
}

// WriteText writes the answer, and each kind of packets for people to read.
func (r *Answers) WriteText(w io.Writer) error {
	var b strings.Builder
	writeHead(&b, r.Answer, r.Unread, r.Unknown)
	for i := range r.Kinds {
		r.Kinds[i].write(&b)
	}
	return flush(w, &b)
}

// where says in how many ranges the packets are, and to which node they come.
func (k *Answer) where() string {
	at := ", in 1 range"
	if k.Boxes != 1 {
		at = fmt.Sprintf(", in %d ranges", k.Boxes)
	}
	if k.Node != "" {
		at += ", that come to " + k.Node
	}
	return at
}

func (k *Answer) write(w *strings.Builder) {
	k.writeKind(w, k.where())
	WriteField(w, "fate", k.Fates.String())
	if k.Probability < 1-tolerance {
		WriteField(w, "chance", fmt.Sprintf("%.4g", k.Probability))
	}
	for _, text := range k.Decided {
		WriteField(w, "  by", text)
	}
	for i := range k.Replies {
		WriteField(w, "reply", k.Replies[i].text())
		WriteField(w, "  by", k.Replies[i].Decided)
	}
}

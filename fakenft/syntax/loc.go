package syntax

// Input is a text that commands were read from.
type Input struct {
	// Name is the file's, "/dev/stdin" for standard input; empty for the arguments of the command line.
	Name string
	// Text is the whole of it. Errors show the line.
	Text string
	// NoText says that errors show no line of it: what JSON says has no place that nft could show.
	NoText bool
	// IncludedAt is the statement that named the file; its In is nil if nobody did.
	IncludedAt Loc
}

// Netlink is where declarations were read that came from the kernel.
var Netlink = &Input{Name: "netlink"}

// Loc is a place in a text: from one column to another one, both included, counted from 1 in bytes. In is nil for what nobody wrote. If it
// has several lines, Line is the first one, and Last is a column of the last one.
type Loc struct {
	In          *Input
	Line        int32 // from 1
	LineStart   int32 // the offset of the line's first byte
	First, Last int32
}

// To is the place from the beginning of l to the end of another one.
func (l Loc) To(end Loc) Loc {
	l.In, l.Last = end.In, end.Last
	return l
}

// Written says whether somebody wrote it.
func (l Loc) Written() bool { return l.In != nil }

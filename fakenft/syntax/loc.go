package syntax

// Input is a text that commands were read from.
type Input struct {
	// Name is the file's, "/dev/stdin" for standard input; empty for the arguments of the command line.
	Name string
	// Text is the whole of it. Errors show the line.
	Text string
	// IncludedAt is the statement that named the file; its In is nil if nobody did.
	IncludedAt Loc
}

// Loc is a place in a text: from one column to another one, both included, counted from 1 in bytes. In is nil for what nobody wrote.
type Loc struct {
	In          *Input
	Line        int // from 1
	LineStart   int // the offset of the line's first byte
	First, Last int
	LastLine    int // of a place of several lines; Last is a column of it
}

// To is the place from the beginning of l to the end of another one.
func (l Loc) To(end Loc) Loc {
	l.Last, l.LastLine = end.Last, end.LastLine
	return l
}

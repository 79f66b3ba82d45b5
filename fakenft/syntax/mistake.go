package syntax

// Mistake is an error or a warning of nft, with the places that it is about: it draws carets below the first one and waves below the others.
type Mistake struct {
	Warning bool
	// Text is the message, without "Error: ".
	Text string
	At   []Loc
}

// Error is the text.
func (m *Mistake) Error() string { return m.Text }

package live

import (
	"fmt"
	"slices"
)

// MatrixClient is a row of a matrix as a page shows it: what a client does not reach, by what stops it.
type MatrixClient struct {
	From string
	// Reached is how many of Of ends it reaches; ends without an address for it are left out.
	Reached, Of int
	Stopped     []MatrixStop
}

// MatrixStop are the ends that a client does not reach for the same causes.
type MatrixStop struct {
	// Word is what a cell of the matrix says: the codes, or a question mark.
	Word string
	// Colour is that of the page's states: bad, open where it is not known, or none where there is no address to call.
	Colour string
	Ends   []string
}

// Sentence is the matrix in one line.
func (m *Matrix) Sentence() string {
	reached, of := 0, 0
	for _, c := range m.Clients() {
		reached, of = reached+c.Reached, of+c.Of
	}
	return fmt.Sprintf("%d of %d: who reaches whom", reached, of)
}

// Clients are the rows.
func (m *Matrix) Clients() []MatrixClient {
	var out []MatrixClient
	for i, from := range m.From {
		c := MatrixClient{From: from}
		for k := range m.Rows[i] {
			cell := &m.Rows[i][k]
			if cell.Answer == noAddress {
				c.stop(cell, m.To[k])
			}
			if cell.hasNoAddress() {
				continue
			}
			c.Of++
			if cell.Answer == WhyYes {
				c.Reached++
				continue
			}
			c.stop(cell, m.To[k])
		}
		out = append(out, c)
	}
	return out
}

// stop adds an end that is not reached.
func (c *MatrixClient) stop(cell *Cell, end string) {
	word := cell.String()
	i := slices.IndexFunc(c.Stopped, func(s MatrixStop) bool { return s.Word == word })
	if i < 0 {
		colour := "bad"
		switch cell.Answer {
		case WhyUnknown:
			colour = "open"
		case noAddress:
			colour = "none"
		}
		i, c.Stopped = len(c.Stopped), append(c.Stopped, MatrixStop{Word: word, Colour: colour})
	}
	c.Stopped[i].Ends = append(c.Stopped[i].Ends, end)
}

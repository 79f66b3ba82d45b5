package ipt

import "strconv"

// probabilities holds the texts of 1/n for the n that were asked for so far.
type probabilities struct {
	texts [][]byte // texts[n]
}

// of returns 1/n with ten digits: the chance of the first of n endpoints that
// are left.
func (p *probabilities) of(n int) []byte {
	for i := len(p.texts); i <= n; i++ {
		if i == 0 {
			p.texts = append(p.texts, nil)
			continue
		}
		p.texts = append(p.texts, strconv.AppendFloat(make([]byte, 0, 12), 1/float64(i), 'f', 10, 64))
	}
	return p.texts[n]
}

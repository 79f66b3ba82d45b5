package nftables

import (
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// numbers are the numbers that names of anonymous sets have.
type numbers []uint64

// lowest is the lowest number that is free.
func (n numbers) lowest() int {
	for i, word := range n {
		if word != ^uint64(0) {
			return i*64 + bits.TrailingZeros64(^word)
		}
	}
	return len(n) * 64
}

func (n numbers) with(i int) numbers {
	for len(n) <= i/64 {
		n = append(n, 0)
	}
	n[i/64] |= 1 << (i % 64)
	return n
}

// numbersOf are those of a template, to be written to.
func (t *tableEdit) numbersOf(template string) numbers {
	if !t.numbered {
		t.numbered = true
		own := make(map[string]numbers, len(t.anonymous)+1)
		for k, v := range t.anonymous {
			own[k] = slices.Clone(v)
		}
		t.anonymous = own
	}
	return t.anonymous[template]
}

// nameSet gives a set whose name is a template, such as "__set%d", the name with the lowest number that is free (nf_tables_set_alloc_name).
func (t *tableEdit) nameSet(template string) string {
	before, after, _ := strings.Cut(template, "%d")
	n := t.numbersOf(template)
	for {
		i := n.lowest()
		n = n.with(i)
		t.anonymous[template] = n
		if name := before + strconv.Itoa(i) + after; t.Set(name) == nil {
			return name
		}
	}
}

// freeName gives the number of an anonymous set's name back.
func (t *tableEdit) freeName(name string) {
	end := len(name)
	for end > 0 && name[end-1] >= '0' && name[end-1] <= '9' {
		end--
	}
	i, err := strconv.Atoi(name[end:])
	if n := t.numbersOf(name[:end] + "%d"); err == nil && i/64 < len(n) {
		n[i/64] &^= 1 << (i % 64)
	}
}

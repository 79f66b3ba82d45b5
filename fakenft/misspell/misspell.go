// Package misspell finds the name that a user may have meant, as nft 1.0.6 does (src/misspell.c). It has nft's own measure of distance,
// with its oddities.
package misspell

// Search looks for the name among many that is nearest to a wanted one.
type Search struct {
	// Want is what was written.
	Want string

	least int
	found bool
}

// Try says whether a name is near enough, and nearer than all before.
func (s *Search) Try(have string) bool {
	longer, shorter := max(len(have), len(s.Want)), min(len(have), len(s.Want))
	if longer <= 1 {
		return false
	}
	threshold := (longer + 4) / 3
	if longer-shorter <= 1 {
		threshold = max((longer+2)/3, 1)
	}
	d := distance(have, s.Want)
	if d > threshold || s.found && d >= s.least {
		return false
	}
	s.least, s.found = d, true
	return true
}

// distance is how many letters are to be inserted, left out, exchanged or swapped with their neighbour to make a name of the other. nft
// compares from the second letter to the zero behind the last one, and its table has rows that are one too short, so that the end of each
// is the beginning of the next; names of different lengths come out nearer than they are.
func distance(a, b string) int {
	row := len(b)
	table := make([]int, (len(a)+1)*(len(b)+1))
	at := func(i, j int) *int { return &table[i*row+j] }
	letter := func(s string, i int) byte {
		if i == len(s) {
			return 0
		}
		return s[i]
	}
	for i := range len(a) + 1 {
		*at(i, 0) = i
	}
	for j := range len(b) + 1 {
		*at(0, j) = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if letter(a, i) == letter(b, j) {
				cost = 0
			}
			*at(i, j) = min(*at(i-1, j)+1, *at(i, j-1)+1, *at(i-1, j-1)+cost)
			if i > 1 && j > 1 && letter(a, i) == letter(b, j-1) && letter(a, i-1) == letter(b, j) {
				*at(i, j) = min(*at(i, j), *at(i-2, j-2)+cost)
			}
		}
	}
	return *at(len(a), len(b))
}

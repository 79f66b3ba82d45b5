// Package ddmin shrinks a list that fails, and a document (Parts). Its caller says what the items are and what failing means. The package
// depends on neither scenarios nor rules, so every shrinker of the project uses it.
package ddmin

// List tries to do without parts of a list of n elements: large parts first, from the
// end to the beginning, until no single element can go. without says whether the list
// still fails without size elements from at, and if so takes them away. The result is
// how many are left.
func List(n int, without func(at, size int) bool) int {
	for size := max(n/2, 1); size > 0 && n > 0; {
		before := n
		for at := n - size; at > -size; at -= size {
			from := max(at, 0)
			if part := min(size, n-from); part > 0 && without(from, part) {
				n -= part
			}
		}
		switch {
		case size > 1:
			size = max(min(size, n)/2, 1)
		case n == before:
			size = 0
		}
	}
	return n
}

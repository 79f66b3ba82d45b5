package print

import "fmt"

// Unsupported is what a listing cannot say: a tree that nft has no words for.
type Unsupported struct{ What string }

func (u Unsupported) Error() string { return "chainwalk does not support listing " + u.What }

// unsupported stops the listing; guard makes an error of it.
func unsupported(format string, args ...any) { panic(Unsupported{fmt.Sprintf(format, args...)}) }

// guard runs f and gives back what it could not print.
func guard(f func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case Unsupported:
			err = r
		default:
			panic(r)
		}
	}()
	f()
	return nil
}

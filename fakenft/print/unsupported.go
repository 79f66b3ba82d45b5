package print

import "fmt"

// unsupportedError is what a listing cannot say: a tree that nft has no words for.
type unsupportedError struct{ What string }

func (u unsupportedError) Error() string { return "chainwalk does not support listing " + u.What }

// unsupported stops the listing; guard makes an error of it.
func unsupported(format string, args ...any) { panic(unsupportedError{fmt.Sprintf(format, args...)}) }

// guard runs f and gives back what it could not print.
func guard(f func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case unsupportedError:
			err = r
		default:
			panic(r)
		}
	}()
	f()
	return nil
}

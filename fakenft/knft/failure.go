package knft

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"sigs.k8s.io/knftables"
)

// failure is a run of nft that failed. Its text is what nft wrote.
type failure struct {
	text   string
	causes []error
}

func (f *failure) Error() string { return f.text }

// Unwrap returns what the library's own functions recognise, if the failure is of a kind that they ask for, and how the program ended.
func (f *failure) Unwrap() []error { return f.causes }

// newFailure is the library's reading of a failure: the first line of nft's errors tells its kind.
func newFailure(err error, stderr []byte) error {
	f := &failure{text: err.Error()}
	if len(stderr) > 0 {
		f.text = string(shortened(stderr))
		first, _, _ := bytes.Cut(stderr, []byte("\n"))
		switch {
		case bytes.Contains(first, []byte("No such file or directory")):
			f.causes = append(f.causes, notFound())
		case bytes.Contains(first, []byte("File exists")):
			f.causes = append(f.causes, alreadyExists())
		}
	}
	f.causes = append(f.causes, err)
	return f
}

// The library's types of these errors are its own, so they are made by its fake.
var (
	notFound = sync.OnceValue(func() error {
		_, err := knftables.NewFake(knftables.IPv4Family, "none").ListRules(context.Background(), "")
		return err
	})
	alreadyExists = sync.OnceValue(func() error {
		fake := knftables.NewFake(knftables.IPv4Family, "twice")
		tx := fake.NewTransaction()
		tx.Create(&knftables.Table{})
		tx.Create(&knftables.Table{})
		return fake.Check(context.Background(), tx)
	})
)

// kept is how much of the beginning and of the end of long errors os/exec keeps (Cmd.Output).
const kept = 32 << 10

// shortened is what Cmd.Output keeps of errors.
func shortened(stderr []byte) []byte {
	omitted := len(stderr) - 2*kept
	if omitted <= 0 {
		return stderr
	}
	return fmt.Appendf(bytes.Clone(stderr[:kept]), "\n... omitting %d bytes ...\n%s", omitted, stderr[len(stderr)-kept:])
}

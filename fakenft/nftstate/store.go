// Package nftstate runs nft as a program on the fake kernel: each run reads the tables of the previous run from a folder and leaves its own
// there. It is the folder that the iptables tools have (fakeipt/toolstate), with one more part, "nftables", under the same lock.
//
// If the part is damaged or of another version, the tool renames it, says so, and continues without it. A run that changes nothing writes
// nothing.
package nftstate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"time"

	"k8s.io/utils/clock"
	"k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/fakenft"
	"github.com/chainwalk/chainwalk/internal/statefolder"
	"github.com/chainwalk/chainwalk/internal/toolexec"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

// statusFailed is the exit status of a run that could not use the state.
const statusFailed = 1

// Store is the folder with the state of the tools.
type Store struct {
	// Dir is made if it is not there.
	Dir string
	// Files, WorkDir and Etc are the machine's files (fakenft.Options: Files, Dir, Etc).
	Files   fs.FS
	WorkDir string
	Etc     fs.FS
	// NoFlowtables is as that of fakenft.Options.
	NoFlowtables bool
	// Clock times elements; nil is the real one.
	Clock clock.PassiveClock
	// Join puts the tables of other tools in the folder into the namespace, and gives back what stores them; nil if there are none.
	Join func(*netfilter.Namespace) (finish func() error, err error)
	// Elsewhere is what to do about a folder that may not be written, for messages.
	Elsewhere string
}

// IsTool says whether a program is nft. A folder in front of its name does not matter.
func IsTool(name string) bool { return fakenft.IsTool(name) }

// Exec returns nft as a program that can be run.
func (s *Store) Exec() exec.Interface { return &toolexec.Exec{Tools: s, Known: fakenft.IsTool} }

// Run runs nft on the stored state and returns its exit status. What is printed waits until the lock is free.
func (s *Store) Run(argv []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(argv) == 0 {
		fmt.Fprintln(stderr, "nftstate: no program named")
		return statusFailed
	}
	var in []byte
	if stdin != nil && readsInput(argv) {
		// Whoever writes it may run a tool before.
		var err error
		if in, err = io.ReadAll(stdin); err != nil {
			fmt.Fprintf(stderr, "%s: reading standard input: %v\n", path.Base(argv[0]), err)
			return statusFailed
		}
	}
	var out, errOut bytes.Buffer
	status, note, err := s.locked(argv, in, &out, &errOut)
	if note != "" {
		fmt.Fprintf(stderr, "%s: %s\n", path.Base(argv[0]), note)
	}
	if err != nil {
		fmt.Fprintf(&errOut, "%s: %v\n", path.Base(argv[0]), err)
		status = statusFailed
	}
	// There is nobody to tell of an error here.
	_, _ = stderr.Write(errOut.Bytes())
	if _, err := stdout.Write(out.Bytes()); err != nil && status == 0 {
		fmt.Fprintf(stderr, "%s: %v\n", path.Base(argv[0]), err)
		status = statusFailed
	}
	return status
}

// readsInput says whether a command line may ask for standard input: where it names a file, or wants a shell.
func readsInput(argv []string) bool {
	return slices.ContainsFunc(argv[1:], func(word string) bool { return len(word) > 1 && word[0] == '-' })
}

// standing is a clock that stands, so that nothing expires while a tool is at work.
type standing struct{ now time.Time }

// Now is the time at which it stands.
func (c standing) Now() time.Time { return c.now }

// Since is the time from t to then.
func (c standing) Since(t time.Time) time.Duration { return c.now.Sub(t) }

// locked runs nft while nobody else looks at the folder.
func (s *Store) locked(argv []string, stdin []byte, stdout, stderr io.Writer) (status int, note string, err error) {
	folder := statefolder.Folder{Path: s.Dir, Elsewhere: s.Elsewhere}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return 0, "", fmt.Errorf("making the folder of the state: %w%s", err, folder.Advice(err))
	}
	lock, err := folder.Lock()
	if err != nil {
		return 0, "", err
	}
	if lock != nil {
		defer func() { _ = lock.Close() }()
	}
	now := time.Now()
	if s.Clock != nil {
		now = s.Clock.Now()
	}
	namespace := netfilter.New(standing{now})
	tools := fakenft.New(fakenft.Options{
		Namespace: namespace, Files: s.Files, Dir: s.WorkDir, Etc: s.Etc, NoFlowtables: s.NoFlowtables,
	})
	note, err = s.load(folder, namespace, tools.Kernel())
	if err != nil {
		return 0, note, err
	}
	finish := func() error { return nil }
	if s.Join != nil {
		if finish, err = s.Join(namespace); err != nil {
			return 0, note, err
		}
	}
	before := tools.Kernel().Mark()
	status = tools.Run(argv, bytes.NewReader(stdin), stdout, stderr)
	if err := finish(); err != nil {
		return 0, note, err
	}
	if tools.Kernel().Mark() != before || tools.HasReset() {
		return status, note, folder.Write(nftables.StatePart, nftables.StateVersion, tools.Kernel().AppendState(nil))
	}
	return status, note, nil
}

// load reads the tables. What cannot be read is put aside, and note says so.
func (s *Store) load(folder statefolder.Folder, namespace *netfilter.Namespace, k *nftables.Kernel) (note string, err error) {
	body, err := folder.Read(nftables.StatePart, nftables.StateVersion)
	if err == nil && body == nil {
		return "", nil
	}
	if err == nil {
		var turn uint64
		if turn, err = k.ReadState(body); err == nil {
			namespace.PassTurn(turn)
			return "", nil
		}
		why := err.Error()
		if errors.Is(err, nftables.ErrOtherState) {
			why = "another version of chainwalk has written it"
		}
		err = &statefolder.Unusable{Why: why}
	}
	var unusable *statefolder.Unusable
	if errors.As(err, &unusable) {
		return folder.SetAside(nftables.StatePart, unusable, "tables of nftables")
	}
	return "", err
}

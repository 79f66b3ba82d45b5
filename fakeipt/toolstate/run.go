package toolstate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"time"

	"k8s.io/utils/clock"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/internal/statefolder"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

// statusFailed is the exit status of a tool that could not use the state; the real tools have it for what the
// system refuses.
const statusFailed = 4

// Run runs a tool on the stored state and returns its exit status. argv[0] is the tool's name as fakeipt.Kernel.Run
// takes it.
func (s *Store) Run(argv []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(argv) == 0 {
		fmt.Fprintln(stderr, "toolstate: no program named")
		return statusFailed
	}
	// What is printed waits until the locks are free: whoever reads it may run a tool before it reads on.
	var out, errOut bytes.Buffer
	run := newRun(s, argv[0])
	status := run.kernel.Run(argv, stdin, &out, &errOut)
	err := run.finish()
	notes := run.notes
	if errors.Is(err, errNarrow) {
		out.Reset()
		errOut.Reset()
		run = newRun(s, argv[0])
		run.whole = true
		status = run.kernel.Run(argv, stdin, &out, &errOut)
		err = run.finish()
		notes = append(notes, run.notes...)
	}
	for _, note := range notes {
		fmt.Fprintf(stderr, "%s: %s\n", path.Base(argv[0]), note)
	}
	if err != nil {
		fmt.Fprintf(&errOut, "%s: %v\n", path.Base(argv[0]), err)
		status = statusFailed
	}
	_, err = stdout.Write(out.Bytes())
	// There is nobody to tell of an error here.
	_, _ = stderr.Write(errOut.Bytes())
	if err != nil && status == 0 {
		fmt.Fprintf(stderr, "%s: %v\n", path.Base(argv[0]), err)
		status = 1
	}
	return status
}

// run is one run of a tool.
type run struct {
	store  *Store
	kernel *fakeipt.Kernel
	other  *fakeipt.Kernel // of the other dialect
	clock  *runClock
	loaded map[part]fingerprint
	// others are the tables of a part that were not read, because the tool looks at one alone.
	others map[part]otherTables
	notes  []string // of parts that were put aside
	locks  []*os.File
	whole  bool // whole tables are read
	// native says what the kernel of nf_tables held, if all of its tables were read.
	native *nftables.Mark
	// lastTable is the handle of the table that was made last, before the tool.
	lastTable uint64
}

// errNarrow says that a tool has changed a table of which only a few chains were read.
var errNarrow = errors.New("a part of a table has changed")

// runClock is the clock of a run: once the state is locked it stands, so that nothing expires while a tool is at work.
type runClock struct {
	now time.Time
}

// Now is the time at which the state was locked.
func (c *runClock) Now() time.Time { return c.now }

// Since is the time from t to then.
func (c *runClock) Since(t time.Time) time.Duration { return c.now.Sub(t) }

// fingerprint tells whether a part has changed since it was loaded.
type fingerprint struct {
	ruleset *ruleset.Ruleset
	objects string
}

func newRun(s *Store, name string) *run {
	if s.clock == nil {
		withClock := *s
		withClock.clock = clock.RealClock{}
		s = &withClock
	}
	r := &run{store: s, clock: &runClock{s.clock.Now()}, loaded: map[part]fingerprint{}, others: map[part]otherTables{}}
	d := s.dialectOf(name)
	namespace := netfilter.New(r.clock)
	r.kernel = fakeipt.New(fakeipt.Options{Dialect: d, Namespace: namespace, Etc: s.etc, Gate: r.enter})
	r.other = fakeipt.New(fakeipt.Options{Dialect: d.Other(), Namespace: namespace, Etc: s.etc})
	return r
}

// enter locks the state and reads what the tool is about to look at.
func (r *run) enter(v fakeipt.Visit) error {
	if err := os.MkdirAll(r.store.dir, 0o700); err != nil {
		return r.noFolder(v, err)
	}
	if v.Locks {
		if err := r.lockXtables(v.Wait); err != nil {
			return err
		}
	}
	if err := r.lockState(); err != nil {
		return err
	}
	r.clock.now = r.store.clock.Now()
	parts := []part{objects, {v.Family, r.kernel.Dialect()}}
	switch {
	case v.Objects:
		parts = []part{objects, {netfilter.IPv4, netfilter.Legacy}, {netfilter.IPv6, netfilter.Legacy}, {netfilter.IPv4, netfilter.NFT},
			{netfilter.IPv6, netfilter.NFT}}
	case r.kernel.Dialect() == netfilter.NFT:
		// The nft tools say whether there are rules of the legacy tools, and which of their tables nft has made.
		parts = append(parts, part{v.Family, netfilter.Legacy})
		if err := r.readNative(v.Family); err != nil {
			return err
		}
		if err := r.store.readHandles(r.kernel.Namespace()); err != nil {
			return err
		}
	}
	for _, p := range parts {
		var look view
		if p.family == v.Family && p.dialect == r.kernel.Dialect() {
			look.table = v.Table
			if !r.whole {
				look.chains = v.Chains
			}
		}
		if err := r.load(p, look); err != nil {
			return err
		}
		r.loaded[p] = r.fingerprint(p)
	}
	r.lastTable = r.kernel.Namespace().LastTable()
	return nil
}

// readNative reads which tables nft has made, and what is in them if one has a name of iptables'. What cannot be used is nft's to put
// aside.
func (r *run) readNative(f netfilter.Family) error {
	body, err := r.store.folder().Read(nftables.StatePart, nftables.StateVersion)
	if asUnusableFile(err) || err == nil && body == nil {
		return nil
	}
	if err != nil {
		return err
	}
	namespace := r.kernel.Namespace()
	nft := nftables.Of(namespace)
	turn, whole, err := nft.ReadHeads(body, func(of nftables.Family, name string) bool { return fakeipt.SharesTable(f, of, name) })
	if err != nil {
		return nil
	}
	namespace.PassTurn(turn)
	if whole {
		mark := nft.Mark()
		r.native = &mark
	}
	return nil
}

// writeNative writes the tables of nft if the tool has changed them.
func (r *run) writeNative() error {
	if r.native == nil {
		return nil
	}
	nft := nftables.Of(r.kernel.Namespace())
	if nft.Mark() == *r.native {
		return nil
	}
	return r.store.folder().Write(nftables.StatePart, nftables.StateVersion, nft.AppendState(nil))
}

// load reads a part. One that cannot be used is put aside.
func (r *run) load(p part, look view) (err error) {
	r.others[p], err = r.store.load(r.of(p), p, look)
	var why *statefolder.Unusable
	if !errors.As(err, &why) {
		return err
	}
	note, err := r.store.setAside(p, why)
	r.notes = append(r.notes, note)
	return err
}

// noFolder is the error of a folder that cannot be made. A legacy tool that may not says what the real one says to whoever is not root.
func (r *run) noFolder(v fakeipt.Visit, err error) error {
	if v.Locks && errors.Is(err, fs.ErrPermission) {
		return noLockFile(r.store.xtablesLock(), err)
	}
	return fmt.Errorf("making the folder of the state: %w%s", err, r.store.folder().Advice(err))
}

// of is the kernel that has the part.
func (r *run) of(p part) *fakeipt.Kernel {
	if p == objects || p.dialect == r.kernel.Dialect() {
		return r.kernel
	}
	return r.other
}

func (r *run) fingerprint(p part) fingerprint {
	if p != objects {
		return fingerprint{ruleset: r.of(p).Ruleset(p.family)}
	}
	return fingerprint{objects: string(body(r.kernel, objects))}
}

// finish writes what the tool has changed and releases the locks.
func (r *run) finish() error {
	defer r.unlock()
	if err := errors.Join(r.writeNative(), r.store.writeHandles(r.kernel.Namespace(), r.lastTable)); err != nil {
		return err
	}
	// Objects come first: rules name them.
	for _, p := range []part{objects, {netfilter.IPv4, r.kernel.Dialect()}, {netfilter.IPv6, r.kernel.Dialect()}} {
		before, ok := r.loaded[p]
		if !ok {
			continue
		}
		if r.fingerprint(p) == before {
			continue
		}
		others := r.others[p]
		if others.narrow {
			return errNarrow
		}
		if err := r.store.write(p, others.with(body(r.kernel, p))); err != nil {
			return err
		}
		if p != objects && others.none() {
			r.store.known.keep(r.store.path(p), p, r.kernel.Ruleset(p.family))
		}
	}
	return nil
}

func (r *run) unlock() {
	for _, f := range r.locks {
		// Closing the file releases the lock.
		_ = f.Close()
	}
	r.locks = nil
}

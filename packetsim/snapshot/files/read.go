package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/chainwalk/chainwalk/internal/document"
	"github.com/chainwalk/chainwalk/internal/lazyregexp"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

// Result is a snapshot and what it was not made of.
type Result struct {
	Node *snapshot.NodeSnapshot
	// Ignored are the files in which there was nothing for a snapshot, and why.
	Ignored []snapshot.Unread
}

// ErrNoDevices says that no file tells the devices of the node, without which nothing else can be understood.
var ErrNoDevices = errors.New("no file tells the node's devices: add what \"ip -j addr\" prints there (ip-addr.json); " +
	"for rules alone there is \"chainwalk trace --rules\"")

// maxFile is the size in bytes from which on a file is not looked at.
const maxFile = 512 << 20

// Writer is the program that has rules in what iptables-save printed, and the tables in which it always has some; empty if it is not known.
type Writer func(save string) (program string, tables []string)

// Read makes a snapshot of the files in a folder and the folders in it. The name of the node is empty if no file says it. By the writer
// tables are found that were left out; nil finds none.
func Read(folder fs.FS, writer Writer) (*Result, error) {
	if writer == nil {
		writer = func(string) (string, []string) { return "", nil }
	}
	r := &reader{
		writes: writer,
		result: &Result{Node: &snapshot.NodeSnapshot{Version: snapshot.Version, Sysctls: map[string]string{}}},
		found:  map[string]string{}, parts: map[string]bool{}, links: map[string]*link{}, tuples: map[tupleIn]tupleIn{},
	}
	err := fs.WalkDir(folder, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		return r.file(folder, name)
	})
	if err != nil {
		return nil, err
	}
	if err := r.finish(); err != nil {
		return nil, err
	}
	return r.result, nil
}

// The things that files can tell beside what every snapshot can lack, as Unread calls them.
const (
	linkDetails    = "kinds of devices"
	fdbEntries     = snapshot.UnreadForwarding
	neighbourTable = snapshot.UnreadNeighbours
)

// reader collects what the files say.
type reader struct {
	result *Result
	writes Writer
	found  map[string]string // which file told a thing
	parts  map[string]bool   // "net.core": there are settings of it
	links  map[string]*link
	order  []*link
	saves  []save
	tuples map[tupleIn]tupleIn // of the connections, each with the other one of its entry
	tools  netfilter.Dialect   // the dialect of the plain tools, if a file says it
	fdb    []fdbEntry
	neighs []neighbour
	name   string // of the file that is read
	anyUse bool   // something was found in it

	nftJSON []nftListing
}

func (r *reader) unread(what, format string, args ...any) {
	r.result.Node.Unread = append(r.result.Node.Unread, snapshot.Unread{What: what, Why: fmt.Sprintf(format, args...)})
}

func (r *reader) ignore(format string, args ...any) {
	r.result.Ignored = append(r.result.Ignored, snapshot.Unread{What: r.name, Why: fmt.Sprintf(format, args...)})
}

// tell notes that the file tells a thing.
func (r *reader) tell(what string) {
	r.anyUse = true
	if r.found[what] == "" {
		r.found[what] = r.name
	}
}

func (r *reader) file(folder fs.FS, name string) error {
	r.name, r.anyUse = name, false
	f, err := folder.Open(name)
	if err != nil {
		r.unread("file "+name, "%v", err)
		return nil
	}
	defer func() { _ = f.Close() }() // only read
	text, err := plain(f)
	switch {
	case errors.Is(err, document.ErrArchive):
		r.ignore("it is %v", err)
		return nil
	case err != nil:
		r.unread("file "+name, "%v", err)
		return nil
	case len(text) > maxFile:
		r.unread("file "+name, "it is larger than %d bytes", maxFile)
		return nil
	case strings.Contains(text, "\x00") || !utf8.ValidString(text):
		r.ignore("it is not text in UTF-8; unpack it if it is an archive")
		return nil
	}
	trimmed := strings.TrimSpace(text)
	switch {
	case trimmed == "" || trimmed == "[]":
		r.empty()
	case startOfJSON().MatchString(trimmed):
		return r.json(trimmed)
	default:
		return r.text(text)
	}
	return nil
}

// startOfJSON is how what tools print as JSON begins: not as counters of rules or of nfacct, or as "[sudo] password for" does.
var startOfJSON = lazyregexp.New(`^(?:\[\s*)?\{\s*["}]`)

// plain reads a file as document.Plain does, with lines that end as those of Linux, and no more of it than decides that it is too large.
func plain(f io.Reader) (string, error) {
	text, err := document.Plain(f)
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(io.LimitReader(text, maxFile+1))
	return strings.ReplaceAll(string(data), "\r\n", "\n"), err
}

// empty is a tool that had nothing to print, as its file's name has it.
func (r *reader) empty() {
	base := strings.ToLower(path.Base(r.name))
	family := r.nameFamily()
	switch {
	case strings.Contains(base, "conntrack"):
		r.tell(snapshot.UnreadConntrack)
	case strings.Contains(base, "ipset"):
		r.tell(snapshot.UnreadIPSets)
	case strings.Contains(base, "nfacct"):
		r.tell(snapshot.UnreadNFAcct)
	case strings.Contains(base, "tables") && strings.Contains(base, "save"):
		r.tell(snapshot.UnreadRules(family))
	case strings.Contains(base, "fdb"):
		r.tell(fdbEntries)
	case strings.Contains(base, "neigh"):
		r.tell(neighbourTable)
	case strings.Contains(base, "route"):
		r.tell(snapshot.UnreadRoutes(family))
	default:
		r.ignore("it is empty")
	}
}

// sixInName is how people say IPv6 in the name of a file.
var sixInName = lazyregexp.New(`(?i)ip[-_ ]?v?6|inet6|[-_ ]6([-_ .]|$)`)

// nameFamily is the family that the name of the file tells, IPv4 if it tells none.
func (r *reader) nameFamily() netfilter.Family {
	if sixInName().MatchString(path.Base(r.name)) {
		return netfilter.IPv6
	}
	return netfilter.IPv4
}

// addUnique adds what the list does not have.
func addUnique[T any](list []T, item T, same func(a, b T) bool) []T {
	if slices.ContainsFunc(list, func(other T) bool { return same(other, item) }) {
		return list
	}
	return append(list, item)
}

package goiptables

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt"
)

// Protocol is the family of the tools.
type Protocol byte

// The families.
const (
	ProtocolIPv4 Protocol = iota
	ProtocolIPv6
)

// IPTables runs the tools of one family. It is safe for concurrent use if its tools are, as a fakeipt.Kernel is.
type IPTables struct {
	tools   fakeipt.Tools
	path    string
	proto   Protocol
	timeout int
	version [3]int
}

// Option changes what New makes.
type Option func(*IPTables)

// IPFamily chooses iptables or ip6tables. ProtocolIPv4 counts if it is not given.
func IPFamily(proto Protocol) Option { return func(i *IPTables) { i.proto = proto } }

// Timeout is how many seconds a tool waits for the lock of the tools. 0, which counts if it is not given, is as long as it takes.
func Timeout(seconds int) Option { return func(i *IPTables) { i.timeout = seconds } }

// Path is the program to run in place of iptables or ip6tables: such as iptables-nft, with a folder before it or not.
func Path(path string) Option { return func(i *IPTables) { i.path = path } }

// New takes tools, a *fakeipt.Kernel as a rule. It asks them for their version, and returns an error if they do not say one or if it is one
// that this package does not know.
func New(tools fakeipt.Tools, options ...Option) (*IPTables, error) {
	i := &IPTables{tools: tools}
	for _, o := range options {
		o(i)
	}
	switch {
	case i.path == "" && i.proto == ProtocolIPv6:
		i.path = "ip6tables"
	case i.path == "":
		i.path = "iptables"
	}
	if !strings.Contains(i.path, "/") {
		i.path = "/usr/sbin/" + i.path // where the library finds them
	}
	var out, errOut bytes.Buffer
	if status := tools.Run([]string{i.path, "--version"}, nil, &out, &errOut); status != 0 {
		return nil, fmt.Errorf("ask %s for its version: exit status %d: %s", i.path, status, strings.TrimSpace(errOut.String()))
	}
	return i, i.readVersion(out.String())
}

// NewWithProtocol is New with the family alone.
func NewWithProtocol(tools fakeipt.Tools, proto Protocol) (*IPTables, error) {
	return New(tools, IPFamily(proto))
}

// readVersion reads "iptables v1.8.9 (nf_tables)".
func (i *IPTables) readVersion(text string) error {
	_, after, _ := strings.Cut(text, " v")
	number, _, _ := strings.Cut(after, " ")
	parts := strings.Split(strings.TrimSpace(number), ".")
	for k := range i.version {
		var err error
		if k < len(parts) {
			i.version[k], err = strconv.Atoi(parts[k])
		}
		if k >= len(parts) || err != nil {
			return fmt.Errorf("%s says %q: there is no version such as v1.8.9 in it", i.path, strings.TrimSpace(text))
		}
	}
	if !i.since(1, 4, 20) {
		return fmt.Errorf("%s is of version %s: before 1.4.20 the tools know no --wait, which every call here uses", i.path, number)
	}
	return nil
}

// since says whether the tools are of a version or a later one.
func (i *IPTables) since(version ...int) bool {
	for k, n := range version {
		if i.version[k] != n {
			return i.version[k] > n
		}
	}
	return true
}

// Proto is the family.
func (i *IPTables) Proto() Protocol { return i.proto }

// HasRandomFully says whether the tools take --random-fully: since 1.6.2.
func (i *IPTables) HasRandomFully() bool { return i.since(1, 6, 2) }

// GetIptablesVersion are the three numbers of the version.
func (i *IPTables) GetIptablesVersion() (major, minor, patch int) {
	return i.version[0], i.version[1], i.version[2]
}

// run runs the tool in a table, or in the default one if it is empty.
func (i *IPTables) run(table string, args ...string) error { return i.runTo(nil, table, args...) }

func (i *IPTables) runTo(out io.Writer, table string, args ...string) error {
	argv := []string{i.path}
	if table != "" {
		argv = append(argv, "-t", table)
	}
	argv = append(append(argv, args...), "--wait")
	if i.timeout != 0 && i.since(1, 6, 0) {
		argv = append(argv, strconv.Itoa(i.timeout))
	}
	if out == nil {
		out = io.Discard
	}
	var errOut bytes.Buffer
	if status := i.tools.Run(argv, nil, out, &errOut); status != 0 {
		return &Error{args: argv, status: status, text: errOut.String()}
	}
	return nil
}

// lines are what the tool prints.
func (i *IPTables) lines(table string, args ...string) ([]string, error) {
	var out bytes.Buffer
	if err := i.runTo(&out, table, args...); err != nil {
		return nil, err
	}
	all := strings.Split(out.String(), "\n")
	if all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	for k, line := range all {
		all[k] = countersBehind(line)
	}
	return all, nil
}

// countersBehind puts the counters of a rule where the legacy tools have them: "[1:60] -A INPUT" is "-A INPUT -c 1 60".
func countersBehind(line string) string {
	counters, rule, found := strings.Cut(line, "] ")
	inside, begins := strings.CutPrefix(counters, "[")
	packets, size, both := strings.Cut(inside, ":")
	if !found || !begins || !both || !digits(packets) || !digits(size) {
		return line
	}
	return rule + " -c " + packets + " " + size
}

func digits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

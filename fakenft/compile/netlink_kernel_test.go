package compile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakenft/check"
	"github.com/chainwalk/chainwalk/fakenft/compile"
	"github.com/chainwalk/chainwalk/fakenft/parse"
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// netlink is what chainwalk would send, in the words of `nft --debug=netlink`.
func netlink(text string) (string, error) {
	in := &syntax.Input{Name: "/dev/stdin", Text: text}
	commands, mistakes := parse.Text(in, parse.Options{})
	if len(mistakes) > 0 {
		return "", mistakes[0]
	}
	if mistakes := check.New(check.Empty{}).Commands(commands); len(mistakes) > 0 {
		return "", mistakes[0]
	}
	var b strings.Builder
	for _, c := range commands {
		changes, err := compile.Command(c)
		if err != nil {
			return "", err
		}
		for _, change := range changes {
			write(&b, change)
		}
	}
	return b.String(), nil
}

func write(b *strings.Builder, change nftables.Change) {
	switch c := change.(type) {
	case *nftables.AddSet:
		fmt.Fprintf(b, "%s %s %x", c.Set.Name, c.Table, uint32(c.Set.Flags))
		if c.Set.Timeout != 0 {
			fmt.Fprintf(b, " timeout %dms", c.Set.Timeout.Milliseconds())
		}
		if c.Set.GCInterval != 0 {
			fmt.Fprintf(b, " gc_interval %dms", c.Set.GCInterval.Milliseconds())
		}
		if c.Set.Policy != 0 {
			fmt.Fprintf(b, " policy %d", c.Set.Policy)
		}
		if c.Set.Size != 0 {
			fmt.Fprintf(b, " size %d", c.Set.Size)
		}
		b.WriteString("\n")
	case *nftables.AddElements:
		fmt.Fprintf(b, "%s %s 0\n", c.Set, c.Table)
		for _, e := range c.Elements {
			b.WriteString(element(e))
		}
		b.WriteString("\n")
	case *nftables.AddRule:
		for _, e := range c.Exprs {
			fmt.Fprintf(b, "  %s\n", expr.Text(e))
		}
	}
}

func element(e nftables.ElementSpec) string {
	var b strings.Builder
	b.WriteString("\telement ")
	if len(e.Key) > 0 {
		b.WriteString(words(e.Key) + " ")
	}
	if e.KeyEnd != nil {
		fmt.Fprintf(&b, " - %s ", words(e.KeyEnd))
	}
	b.WriteString(" : ")
	if e.Data != nil {
		if v := e.Data.Verdict; v != nil {
			b.WriteString(strings.TrimSuffix(expr.DataText(e.Data), " ") + " ")
		} else {
			b.WriteString(words(e.Data.Bytes) + " ")
		}
	}
	fmt.Fprintf(&b, "%d [end]", e.Flags)
	if len(e.UserData) > 0 {
		b.WriteString("  userdata = { ")
		for _, c := range e.UserData {
			if c >= ' ' && c < 0x7f {
				b.WriteByte(c)
			} else {
				fmt.Fprintf(&b, `\x%02x`, c)
			}
		}
		b.WriteString(" }")
	}
	return b.String()
}

// words are bytes as the little-endian numbers of four bytes that they are.
func words(b []byte) string {
	var list []string
	for len(b) > 0 {
		var w [4]byte
		n := copy(w[:], b)
		b = b[n:]
		list = append(list, fmt.Sprintf("%08x", uint32(w[0])|uint32(w[1])<<8|uint32(w[2])<<16|uint32(w[3])<<24))
	}
	return strings.Join(list, " ")
}

// wanted is what the real nft prints, without what it says of tables, chains and the place of rules, and without the errors of the kernel.
func wanted(printed string) string {
	var b strings.Builder
	lines := slices.Collect(strings.Lines(printed))
	for i, line := range lines {
		noElements := strings.HasSuffix(line, " 0\n") && i > 0 && strings.HasPrefix(lines[i-1], strings.TrimSuffix(line, "0\n")) &&
			(i+1 == len(lines) || !strings.HasPrefix(lines[i+1], "\telement "))
		switch {
		case noElements: // of a meter
			continue
		case strings.HasPrefix(line, "  ["), strings.HasPrefix(line, "\telement "):
		case strings.Contains(line, " (null) "), len(strings.Fields(line)) < 3, !isSet(line):
			continue
		}
		b.WriteString(strings.TrimRight(line, "\n ") + "\n")
	}
	return b.String()
}

// isSet says whether a line is about a set: "NAME TABLE FLAGS", where a rule has "FAMILY TABLE CHAIN".
func isSet(line string) bool {
	f := strings.Fields(line)
	_, isFamily := syntax.FamilyNamed(f[0])
	return !isFamily && strings.Trim(f[2], "0123456789abcdef") == ""
}

func equal(t *testing.T, want, have, what string) bool {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(have) {
		if text := strings.TrimRight(line, "\n "); text != "" {
			b.WriteString(text + "\n")
		}
	}
	have = b.String()
	if want == have {
		return true
	}
	wants, haves := strings.Split(want, "\n"), strings.Split(have, "\n")
	for i := range max(len(wants), len(haves)) {
		var a, b string
		if i < len(wants) {
			a = wants[i]
		}
		if i < len(haves) {
			b = haves[i]
		}
		if a != b {
			t.Errorf("%s\nnft:       %s\nchainwalk: %s", what, a, b)
			return false
		}
	}
	return false
}

// TestKernelNetlinkOfRules compares what is sent for single rules, in lines "FAMILY TYPE HOOK: RULE", with what nft sends.
func TestKernelNetlinkOfRules(t *testing.T) {
	kerneltest.Need(t, "nft")
	files, err := filepath.Glob("../decompile/testdata/rules-*.txt")
	require.NoError(t, err)
	place := kerneltest.New(t)
	same, all, asked := 0, 0, 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			where, rule, isRule := strings.Cut(strings.TrimSpace(line), ": ")
			w := strings.Fields(where)
			if !isRule || len(w) != 3 {
				continue
			}
			asked++
			if !sample.InPart(t, asked) {
				continue
			}
			ruleset := context(w, rule)
			r := place.Run([]string{"nft", "--debug=netlink", "-c", "-f", "-"}, ruleset)
			have, err := netlink(ruleset)
			if r.Status != 0 && !strings.Contains(r.Stdout, "[ ") {
				if err == nil && !strings.Contains(r.Stderr, "Could not process") {
					t.Logf("nft refuses %s: %s", line, r.Stderr)
				}
				continue
			}
			all++
			if err != nil {
				t.Errorf("%s: %v", line, err)
				continue
			}
			if equal(t, wanted(r.Stdout), have, line) {
				same++
			}
		}
	}
	t.Logf("%d of %d rules are the same", same, all)
}

func context(w []string, rule string) string {
	address := "ipv4_addr"
	if w[0] == "ip6" {
		address = "ipv6_addr"
	}
	return fmt.Sprintf(`table %s t {
	counter cn { }
	map vm { type %[2]s . inet_proto . inet_service : verdict; }
	map mm { type inet_service : %[2]s . inet_service; }
	map om { type %[2]s : counter; }
	map am { type %[2]s : %[2]s; }
	set s { type %[2]s; size 100; flags dynamic,timeout; }
	set cidr { type %[2]s; flags interval; }
	set hp { type %[2]s . %[2]s . inet_proto . inet_service; }
	chain d { }
	chain c { type %[3]s hook %[4]s priority 0; %[5]s; }
}`, w[0], address, w[1], w[2], rule)
}

// TestKernelNetlinkOfFiles does so with whole files.
func TestKernelNetlinkOfFiles(t *testing.T) {
	kerneltest.Need(t, "nft")
	files, err := filepath.Glob("../decompile/testdata/*.nft")
	require.NoError(t, err)
	if more := os.Getenv("CHAINWALK_RULESETS"); more != "" {
		found, err := filepath.Glob(more)
		require.NoError(t, err)
		files = append(files, found...)
	}
	place := kerneltest.New(t)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		r := place.Run([]string{"nft", "--debug=netlink", "-c", "-f", "-"}, string(text))
		if r.Status != 0 {
			t.Logf("nft refuses %s: %s", file, r.Stderr)
		}
		have, err := netlink(string(text))
		require.NoError(t, err, file)
		equal(t, wanted(r.Stdout), have, file)
	}
}

package parse_test

import (
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakenft/parse"
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/internal/dumps/nftcalls"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

func TestValidTextsParse(t *testing.T) {
	for _, text := range valid(t) {
		require.Empty(t, said(text), text)
	}
}

func TestAllThatKubeProxyWritesAndNftListsParses(t *testing.T) {
	files, err := nftcalls.Files()
	require.NoError(t, err)
	found := 0
	require.NoError(t, fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".stdin" && path.Base(name) != "ruleset.nft" {
			return err
		}
		text, err := fs.ReadFile(files, name)
		require.NoError(t, err)
		require.Empty(t, said(string(text)), name)
		found++
		return nil
	}))
	require.Greater(t, found, 50)
}

// The outputs are those of the real nft, without what it says after it has parsed.
func TestMistakesAreThoseOfNft(t *testing.T) {
	datadriven.RunTest(t, "testdata/mistakes.txt", func(t *testing.T, d *datadriven.TestData) string {
		return said(d.Input + "\n")
	})
}

// files are those of "include".
type files map[string]string

func (f files) Glob(pattern string) ([]string, error) {
	var names []string
	for _, name := range []string{"/a/1.nft", "/a/2.nft", "/etc/b.nft", "/loop.nft"} {
		if _, there := f[name]; !there {
			continue
		}
		if ok, err := path.Match(pattern, name); ok || err != nil {
			names = append(names, name)
		}
	}
	return names, nil
}

func (f files) Read(name string) ([]byte, error) {
	if f[name] == "unreadable" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return []byte(f[name]), nil
}

func TestInclude(t *testing.T) {
	all := files{"/a/1.nft": "define x = 22\nadd table t\n", "/a/2.nft": "foo\n", "/etc/b.nft": "define y = 5",
		"/loop.nft": "include \"/loop.nft\"\n"}
	for _, row := range []struct {
		name, text string
		commands   int
		want       string
	}{
		{"one file", "include \"/a/1.nft\"\nadd rule t c tcp dport $x\n", 2, ""},
		{"a mistake in the second file of a pattern", "include \"/a/*.nft\"\n", 1,
			"In file included from /dev/stdin:1:1-19:\n/a/2.nft:1:4-4: Error: syntax error, unexpected newline, expecting string\nfoo\n   ^\n"},
		{"a pattern that matches nothing", "include \"/c/*.nft\"\n", 0, ""},
		{"no such file", "include \"/c\"\n", 0, "/dev/stdin:1:1-13: Error: File not found: /c\ninclude \"/c\"\n^^^^^^^^^^^^^\n"},
		{"a file without a newline at its end, on the path", "include \"b.nft\"\n; add rule t c tcp dport $y\n", 1, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			commands, mistakes := parse.Text(&syntax.Input{Name: "/dev/stdin", Text: row.text},
				parse.Options{Files: all, IncludePaths: []string{"/etc"}})
			var b strings.Builder
			for _, m := range mistakes {
				b.WriteString(syntax.Render(m))
			}
			require.Equal(t, row.want, b.String())
			require.Len(t, commands, row.commands)
		})
	}
	_, mistakes := parse.Text(&syntax.Input{Name: "/dev/stdin", Text: "include \"/loop.nft\"\n"}, parse.Options{Files: all})
	require.Len(t, mistakes, 1)
	require.Equal(t, "Include nested too deeply, max 16 levels", mistakes[0].Text)
	require.Equal(t, 16, strings.Count(syntax.Render(mistakes[0]), " from "))
}

func TestDefinesOfTheCommandLine(t *testing.T) {
	in := &syntax.Input{Name: "x.nft", Text: "add rule t c tcp dport $port\n"}
	commands, mistakes := parse.Text(in, parse.Options{Defines: [][2]string{{"port", "{ 80, 443 }"}}})
	require.Empty(t, mistakes)
	relation := commands[0].Rule.Stmts[0].(*syntax.Match).Expr.(*syntax.Relational)
	require.IsType(t, &syntax.Set{}, relation.Right.(*syntax.Variable).To)

	_, mistakes = parse.Text(in, parse.Options{Defines: [][2]string{{"a", "5"}, {"x", "&"}}})
	require.Len(t, mistakes, 1)
	require.Equal(t, "Error: syntax error, unexpected &\ndefine a=5; define x=&; \n                     ^\n", syntax.Render(mistakes[0]))
}

func TestWhatACommandIsAbout(t *testing.T) {
	text := "insert rule ip6 t c index 2 tcp dport 0x50 accept comment \"x\"; flush ruleset\n"
	commands, mistakes := parse.Text(&syntax.Input{Text: text}, parse.Options{})
	require.Empty(t, mistakes)
	require.Len(t, commands, 2)
	c := commands[0]
	require.Equal(t, syntax.OpInsert, c.Op)
	require.Equal(t, syntax.KindRule, c.Kind)
	require.Equal(t, []any{"ip6", "t", "c", uint64(3)}, []any{c.Handle.Family.String(), c.Handle.Table, c.Handle.Chain, c.Handle.Placed.Index})
	require.Equal(t, []int32{1, 62}, []int32{c.Loc.First, c.Loc.Last})
	require.Equal(t, []int32{21, 27}, []int32{c.Handle.Placed.IndexLoc.First, c.Handle.Placed.IndexLoc.Last})
	require.Equal(t, "x", c.Rule.Comment)
	require.Len(t, c.Rule.Stmts, 2)
	relation := c.Rule.Stmts[0].(*syntax.Match).Expr.(*syntax.Relational)
	require.Equal(t, "80", relation.Right.(*syntax.Symbol).Text)
	require.Equal(t, "dport", relation.Left.(*syntax.Payload).Field.Name)
	require.Equal(t, syntax.OpFlush, commands[1].Op)
}

func TestFlagsThatAreGivenTwice(t *testing.T) {
	text := "add set x s { type mark; flags interval; flags timeout; }\nadd map x m { type mark : mark; flags interval; flags timeout; }\n"
	commands, mistakes := parse.Text(&syntax.Input{Text: text}, parse.Options{})
	require.Empty(t, mistakes)
	require.Equal(t, nftables.SetTimeout, commands[0].Set.Flags)
	require.Equal(t, nftables.SetMap|nftables.SetInterval|nftables.SetTimeout, commands[1].Set.Flags)
}

// nft 1.0.6 evaluates what it could parse, in spite of mistakes elsewhere.
func TestCommandsBesideMistakesAreThere(t *testing.T) {
	commands, mistakes := parse.Text(&syntax.Input{Text: "add table a\nfoo\ntable b { chain c { foo; accept; }; }\n"}, parse.Options{})
	require.Len(t, mistakes, 2)
	require.Len(t, commands, 2)
	require.Len(t, commands[1].Table.Chains[0].Rules, 1)
}

func FuzzText(f *testing.F) {
	for _, text := range valid(f) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, mistakes := parse.Text(&syntax.Input{Name: "/dev/stdin", Text: text}, parse.Options{})
		for _, m := range mistakes {
			require.NotEmpty(t, m.At)
			for _, at := range m.At {
				require.LessOrEqual(t, int(at.LineStart), len(text))
			}
			syntax.Render(m)
		}
	})
}

// Texts that are all of one kind take no longer for each byte than others.
func TestLongTextsOfOneKind(t *testing.T) {
	for _, one := range []string{"#", "\"", "(", "{", "a:", "1.", "::1", "a\\*", "1d", "\\", "1,", "foo ", "jhash ", "x {\n"} {
		said("add rule x y " + strings.Repeat(one, 100_000))
	}
}

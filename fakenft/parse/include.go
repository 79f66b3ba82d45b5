package parse

import (
	"errors"
	"strings"
	"syscall"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/internal/libc"
)

// maxIncludes is how deep files may include each other.
const maxIncludes = 16

// include takes "include" and a name, and goes on in the files that it means.
func (p *blockParser) include() {
	from := p.here()
	p.take()
	p.expect(tokQuotedString)
	name := p.cur.text
	p.separator()
	if p.bad {
		return
	}
	at := p.since(from)
	names, err := p.includes(name)
	if err != "" {
		p.wrong(err, at)
		return
	}
	for i := len(names) - 1; i >= 0; i-- {
		if strings.HasSuffix(names[i], "/") {
			continue
		}
		if len(p.below) >= p.maxIncludes() {
			p.wrong("Include nested too deeply, max 16 levels", at)
			return
		}
		text, err := p.options.Files.Read(names[i])
		if err != nil {
			p.wrong("Could not open file \""+names[i]+"\": "+reason(err)+"\n", at)
			return
		}
		p.enter(&syntax.Input{Name: names[i], Text: string(text), IncludedAt: at})
	}
}

// includes are the names that one means, and what is wrong with it.
func (p *blockParser) includes(name string) ([]string, string) {
	if p.options.Files == nil {
		return nil, "File not found: " + name
	}
	patterns := []string{name}
	if !strings.HasPrefix(name, "/") && !strings.HasPrefix(name, "./") && !strings.HasPrefix(name, "../") {
		patterns = nil
		for _, folder := range p.options.IncludePaths {
			patterns = append(patterns, folder+"/"+name)
		}
	}
	for _, pattern := range patterns {
		names, err := p.options.Files.Glob(pattern)
		if err != nil {
			return nil, "Failed to glob the pattern " + pattern
		}
		if len(names) > 0 {
			return names, ""
		}
	}
	if strings.ContainsAny(name, "*?[") {
		return nil, ""
	}
	return nil, "File not found: " + name
}

func reason(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return libc.Strerror(errno)
	}
	return err.Error()
}

// maxIncludes is how many files may be below the one that includes another. A file that was named on the command line is one of those
// that nft counts, the standard input is not.
func (p *blockParser) maxIncludes() int {
	first := p.in
	if len(p.below) > 0 {
		first = p.below[0].in
	}
	if first.Name == "" || first.Name == "/dev/stdin" {
		return maxIncludes
	}
	return maxIncludes - 1
}

// enter goes on in another text, and comes back at its end.
func (s *scanner) enter(in *syntax.Input) {
	s.below = append(s.below, s.source)
	s.source = source{in: in, text: in.Text, line: 1}
}

// leave goes back to the text that included this one. It says whether there is one.
func (s *scanner) leave() bool {
	if len(s.below) == 0 {
		return false
	}
	last := len(s.below) - 1
	s.source, s.below = s.below[last], s.below[:last]
	return true
}

package differ

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// setHelp is what the real ipset says of its commands and of the types of sets. The generator makes commands of these words, and not of
// those that fakeipt knows.
type setHelp struct {
	options []string // that may stand anywhere: "-q", "-o plain|save|xml"
	types   []setTypeHelp
}

// setTypeHelp is a type with what stands behind each command.
type setTypeHelp struct {
	name  string
	forms map[string]setForm // by command: create, add, del, test
}

// setForm is what a command wants of a type: the parts of an element, and options.
type setForm struct {
	parts   []string // "IP[/CIDR]|FROM-TO", "[PROTO:]PORT"; of create what must be there: "range IP/CIDR|FROM-TO"
	options []string // "timeout VALUE", "counters", "family inet|inet6"
}

var (
	setOption = regexp.MustCompile(`(?m)^(-\S+ \S*)$`)
	helpType  = regexp.MustCompile(`(?m)^    (\S+:\S+)\s`)
	helpForm  = regexp.MustCompile(`^(create|add|del|test)\s+SETNAME\s+(\S+) ?(.*)$`)
	helpWords = regexp.MustCompile(`\[([^\[\]]+)\]`)
)

// askSets asks the real tool.
func askSets(real runner) (*setHelp, error) {
	run, err := real.run(&textStep{Argv: []string{"ipset", "help"}})
	if err != nil || run.Status != 0 {
		return nil, fmt.Errorf("ipset help: status %d: %w", run.Status, err)
	}
	h := &setHelp{}
	for _, m := range setOption.FindAllStringSubmatch(run.Stdout, -1) {
		h.options = append(h.options, strings.TrimSpace(m[1]))
	}
	for _, m := range helpType.FindAllStringSubmatch(run.Stdout, -1) {
		known := slices.ContainsFunc(h.types, func(t setTypeHelp) bool { return t.name == m[1] })
		if known {
			continue
		}
		help, err := real.run(&textStep{Argv: []string{"ipset", "help", m[1]}})
		if err != nil {
			return nil, err
		}
		h.types = append(h.types, setTypeHelp{m[1], setForms(help.Stdout)})
	}
	if len(h.options) == 0 || len(h.types) == 0 {
		return nil, fmt.Errorf("ipset help names no options or no types:\n%s", run.Stdout)
	}
	return h, nil
}

// setForms are the forms in the help of a type.
func setForms(help string) map[string]setForm {
	forms := map[string]setForm{}
	last := ""
	for line := range strings.Lines(help) {
		if m := helpForm.FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil {
			last = m[1]
			forms[last] = setForm{parts: splitParts(m[3])}
			continue
		}
		if last == "" || !strings.HasPrefix(line, "        ") {
			last = ""
			continue
		}
		form := forms[last]
		for _, m := range helpWords.FindAllStringSubmatch(line, -1) {
			form.options = append(form.options, m[1])
		}
		forms[last] = form
	}
	return forms
}

// splitParts cuts an element's form at its commas, but for those within brackets.
func splitParts(form string) []string {
	var parts []string
	depth, start := 0, 0
	for i, c := range form {
		switch c {
		case '[':
			depth++
		case ']':
			depth--
		case ',':
			if depth == 0 {
				parts, start = append(parts, form[start:i]), i+1
			}
		}
	}
	return append(parts, form[start:])
}

package ailments

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// symptom is a row of docs/symptoms.md: the cause's code, the section that it links to, and the ailment.
var symptom = regexp.MustCompile(`^\|.*\| .*\[(CW\d+)\]\(causes\.md#([^)]+)\).* \| (.+) \|$`)

func TestEachSymptomHasACauseAndAnAilment(t *testing.T) {
	text, err := os.ReadFile("../../../docs/symptoms.md")
	require.NoError(t, err)
	sections := sectionsOf(t)
	rows := 0
	for line := range strings.Lines(string(text)) {
		row := symptom.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if row == nil {
			continue
		}
		rows++
		assert.Contains(t, sections, row[2], "a section of docs/causes.md")
		all := Ailments()
		at := slices.IndexFunc(all, func(a Ailment) bool { return a.Name == row[3] })
		if assert.GreaterOrEqual(t, at, 0, "no ailment is named %q", row[3]) {
			assert.Equal(t, row[1], string(all[at].Cause), row[3])
			assert.False(t, all[at].Unseen || all[at].Unnamed != "", "no command names %q", row[3])
		}
	}
	assert.Equal(t, 15, rows)
}

// sectionsOf are the names by which the sections of docs/causes.md are linked to.
func sectionsOf(t *testing.T) []string {
	text, err := os.ReadFile("../../../docs/causes.md")
	require.NoError(t, err)
	var out []string
	for line := range strings.Lines(string(text)) {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			out = append(out, anchorOf(strings.TrimSpace(title)))
		}
	}
	return out
}

// anchorOf is the name of a section in links: small letters, hyphens for blanks, and nothing else but letters, digits and underscores.
func anchorOf(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			return r
		}
		return -1
	}, strings.ToLower(title))
}

func TestEachAilmentHasAName(t *testing.T) {
	names := map[string]bool{}
	for _, a := range Ailments() {
		assert.False(t, names[a.Name], "two ailments are named %q", a.Name)
		names[a.Name] = true
		assert.NotEmpty(t, a.Tries, a.Name)
		assert.NotEmpty(t, a.Cause, a.Name)
		assert.NotEmpty(t, a.asked().Is, a.Name)
	}
	for _, h := range Healthies() {
		assert.False(t, names[h.Name], "two wards are named %q", h.Name)
		names[h.Name] = true
	}
}

package explain_test

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// luminance is that of WCAG 2.1 for a colour such as #0b5cad.
func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	require.Regexp(t, "^#[0-9a-f]{6}$", colour)
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(colour[1+2*i:3+2*i], 16, 8)
		require.NoError(t, err)
		v := float64(n) / 255
		if v <= 0.04045 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		sum += weight * v
	}
	return sum
}

// TestColoursHaveTheContrastOfWCAG: 4.5:1 between a text and every ground that it stands on, 3:1 for edges that say something (WCAG 2.1,
// AA: 1.4.3 and 1.4.11), light and dark.
func TestColoursHaveTheContrastOfWCAG(t *testing.T) {
	style, err := os.ReadFile("page/page.css")
	require.NoError(t, err)
	colours := map[string][]string{}
	for _, m := range regexp.MustCompile(`--([a-z-]+): light-dark\((#[0-9a-f]+), (#[0-9a-f]+)\);`).FindAllStringSubmatch(string(style), -1) {
		colours[m[1]] = m[2:]
	}
	grounds := []string{"ground", "sheet", "raised", "gold"}
	pairs := map[string][]string{"object": {"object-ground"}}
	for _, text := range []string{"ink", "soft", "accent", "good", "bad", "object", "nat", "filter", "mangle", "raw"} {
		pairs[text] = append(pairs[text], grounds...)
	}
	pairs["doubt"] = []string{"ground", "sheet"}
	check := func(text, ground string, want float64) {
		require.Contains(t, colours, text)
		require.Contains(t, colours, ground)
		for i, mode := range []string{"light", "dark"} {
			a, b := luminance(t, colours[text][i]), luminance(t, colours[ground][i])
			assert.GreaterOrEqual(t, (max(a, b)+0.05)/(min(a, b)+0.05), want, "%s: %s on %s", mode, text, ground)
		}
	}
	for text, on := range pairs {
		for _, ground := range on {
			check(text, ground, 4.5)
		}
	}
	for _, edge := range []string{"accent", "bad", "good", "doubt", "soft"} {
		check(edge, "sheet", 3)
	}
	check("gold-edge", "sheet", 3)
}

package proxier_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	basemetrics "k8s.io/component-base/metrics"
)

// scraped is what a scrape over HTTP has returned.
type scraped struct {
	types map[string]string
	help  map[string]string
	// samples are by name and labels as written, for example
	// `kubeproxy_proxy_livez_total{code="200"}`.
	samples map[string]float64
}

func scrape(t *testing.T, registry basemetrics.KubeRegistry) scraped {
	t.Helper()
	server := httptest.NewServer(basemetrics.HandlerFor(registry, basemetrics.HandlerOpts{}))
	defer server.Close()
	response, err := http.Get(server.URL)
	require.NoError(t, err)
	defer func() { require.NoError(t, response.Body.Close()) }()
	require.Equal(t, http.StatusOK, response.StatusCode)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)

	result := scraped{types: map[string]string{}, help: map[string]string{}, samples: map[string]float64{}}
	for line := range strings.Lines(string(body)) {
		result.read(t, strings.TrimSpace(line))
	}
	return result
}

func (s scraped) read(t *testing.T, line string) {
	t.Helper()
	fields := strings.SplitN(line, " ", 4)
	switch {
	case strings.HasPrefix(line, "# TYPE "):
		s.types[fields[2]] = fields[3]
	case strings.HasPrefix(line, "# HELP "):
		s.help[fields[2]] = fields[3]
	default:
		name, text, found := strings.Cut(line, " ")
		require.True(t, found, line)
		value, err := strconv.ParseFloat(text, 64)
		require.NoError(t, err, line)
		s.samples[name] = value
	}
}

var (
	ofHistogram = regexp.MustCompile(`_(bucket|sum|count)$`)
	labelName   = regexp.MustCompile(`(\w+)="`)
)

// labels returns the names of the labels of all samples of a metric, sorted,
// without those that every histogram has.
func (s scraped) labels(metric string) string {
	names := ""
	for sample := range s.samples {
		name, rest, _ := strings.Cut(sample, "{")
		if s.types[metric] == "histogram" {
			name = ofHistogram.ReplaceAllString(name, "")
		}
		if name != metric {
			continue
		}
		var found []string
		for _, match := range labelName.FindAllStringSubmatch(rest, -1) {
			if match[1] != "le" {
				found = append(found, match[1])
			}
		}
		names = strings.Join(found, " ")
	}
	return names
}

// buckets counts the buckets of a histogram, the one without an end included.
func (s scraped) buckets(series string) int {
	count := 0
	for sample := range s.samples {
		if strings.HasPrefix(sample, series) {
			count++
		}
	}
	return count
}

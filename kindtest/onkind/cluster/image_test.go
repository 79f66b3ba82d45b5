package cluster

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The image that users build is the one of the tests.
func TestDockerfileMakesTheSameImage(t *testing.T) {
	text, err := os.ReadFile("Dockerfile")
	require.NoError(t, err)
	var lines []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	assert.Equal(t, []string{"FROM scratch", "COPY chainwalk /chainwalk", `ENTRYPOINT ["/chainwalk"]`}, lines)
}

package kind

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSilenceIsAsLongAsTheMachineIsSlow, and never as short as an answer of a machine that stumbles.
func TestSilenceIsAsLongAsTheMachineIsSlow(t *testing.T) {
	p := &pace{}
	assert.Equal(t, time.Second, p.silence(), "nothing is known")
	for _, row := range []struct{ answer, silence time.Duration }{
		{5 * time.Millisecond, 250 * time.Millisecond}, {30 * time.Millisecond, 600 * time.Millisecond}, {10 * time.Millisecond, 600 * time.Millisecond},
		{200 * time.Millisecond, time.Second},
	} {
		p.note(row.answer)
		assert.Equal(t, row.silence, p.silence(), "after an answer in %s", row.answer)
	}
	p.begin()
	assert.Equal(t, time.Second, p.silence())
	p.note(time.Millisecond)
	assert.Equal(t, 250*time.Millisecond, p.silence(), "the slow answer was before")
}

// TestAnAnswerThatIsForetoldIsWaitedFor, until it is said otherwise.
func TestAnAnswerThatIsForetoldIsWaitedFor(t *testing.T) {
	session, _ := opened(t, shop)
	session.backend.sentinel.pace.begin()
	session.backend.sentinel.pace.note(time.Millisecond)
	to := attempt("tcp 172.30.0.41:80", "")
	timeout := func() time.Duration {
		_, d, err := session.dialOf(&to)
		require.NoError(t, err)
		return d.Timeout
	}
	assert.Equal(t, shortestSilence, timeout())
	session.Foretold(to, true)
	assert.Equal(t, longestSilence, timeout())
	session.Foretold(to, false)
	assert.Equal(t, shortestSilence, timeout())
}

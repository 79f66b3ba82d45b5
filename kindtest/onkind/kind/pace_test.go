package kind

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSilenceIsAsLongAsTheMachineIsSlow, and never as short as an answer of a machine that stumbles.
func TestSilenceIsAsLongAsTheMachineIsSlow(t *testing.T) {
	for _, row := range []struct {
		about   string
		answers []time.Duration
		// what is waited where nothing is foretold, where silence is, and where it is a matter of chance
		unforetold, silent, chance time.Duration
	}{
		{"nothing is known", nil, 5 * time.Second, time.Second, 20 * time.Second},
		{"a fast machine", []time.Duration{5 * time.Millisecond}, 250 * time.Millisecond, 250 * time.Millisecond, time.Second},
		{"a slower one", []time.Duration{5 * time.Millisecond, 30 * time.Millisecond, 10 * time.Millisecond}, 600 * time.Millisecond,
			600 * time.Millisecond, time.Second},
		{"a busy one", []time.Duration{100 * time.Millisecond}, 2 * time.Second, time.Second, 2 * time.Second},
		{"one that stands still", []time.Duration{2 * time.Second}, 5 * time.Second, time.Second, 20 * time.Second},
	} {
		p := &pace{}
		for _, took := range row.answers {
			p.note(took)
		}
		assert.Equal(t, row.unforetold, p.silence(Unforetold), row.about)
		assert.Equal(t, row.silent, p.silence(SilenceForetold), row.about)
		assert.Equal(t, row.chance, p.silence(ChanceForetold), row.about)
		assert.Equal(t, 20*time.Second, p.silence(AnswerForetold), row.about)
	}
	p := &pace{}
	p.note(time.Second)
	p.begin()
	p.note(time.Millisecond)
	assert.Equal(t, 250*time.Millisecond, p.silence(Unforetold), "the slow answer was before")
}

// TestWhatIsForetoldDecidesHowLongIsWaited, until it is said otherwise.
func TestWhatIsForetoldDecidesHowLongIsWaited(t *testing.T) {
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
	session.Foretold(to, AnswerForetold)
	assert.Equal(t, patientForAnswer, timeout())
	session.Foretold(to, SilenceForetold)
	assert.Equal(t, shortestSilence, timeout())
}

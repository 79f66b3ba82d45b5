package trial_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/chainwalk/chainwalk/internal/mark"
	"github.com/chainwalk/chainwalk/scenarios/search/trial"
)

func TestEachMarkIsExercisedByClausesThatThereAre(t *testing.T) {
	for _, m := range mark.All() {
		clauses := trial.Exercising(m)
		assert.NotEmpty(t, clauses, m)
		for i, clause := range clauses {
			assert.NotNil(t, clause, "clause %d of %s", i, m)
		}
	}
}

package trial

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFiguresMerge(t *testing.T) {
	var sum Figures
	one := Figures{
		Cases: 1, States: 2, Connections: 3, Packets: 4, Clauses: map[string]int{"a": 1}, Marks: map[string]int{"m": 2},
		Rules: map[string]RuleFigures{"KUBE-SVC -j KUBE-SEP": {There: 3, Met: 2}},
	}
	sum.Merge(&one)
	assert.Equal(t, one, sum)
	sum.Merge(&one)
	assert.Equal(t, Figures{
		Cases: 2, States: 4, Connections: 6, Packets: 8, Clauses: map[string]int{"a": 2}, Marks: map[string]int{"m": 4},
		Rules: map[string]RuleFigures{"KUBE-SVC -j KUBE-SEP": {There: 6, Met: 4}},
	}, sum)
	sum.Merge(&Figures{})
	assert.Equal(t, 2, sum.Cases)
	assert.Equal(t, map[string]int{"a": 1}, one.Clauses, "the others are left alone")
}

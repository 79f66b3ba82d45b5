package proxier_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/chainwalk/chainwalk/internal/mark"
	"github.com/chainwalk/chainwalk/proxier"
)

// TestNFTablesMarks: a search is told which decisions of the writer its cases have reached, each where it is taken and nowhere else.
func TestNFTablesMarks(t *testing.T) {
	config, _, _ := nftConfig(t, v1.IPv4Protocol)
	config.Marks = &mark.Recorder{}
	p := started(t, config)
	service := func(i int, affinity v1.ServiceAffinity) *v1.Service {
		return &v1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: clusterIPName(i)},
			Spec: v1.ServiceSpec{
				ClusterIP: fmt.Sprintf("172.30.0.%d", i), SessionAffinity: affinity, Ports: []v1.ServicePort{{Name: "http", Port: 80}},
			},
		}
	}
	add := func(i int, affinity v1.ServiceAffinity) func(*proxier.Proxier) {
		return func(p *proxier.Proxier) {
			p.OnServiceAdd(service(i, affinity))
			p.OnEndpointSliceAdd(clusterIPSlice(i, 1))
		}
	}
	type counts struct{ nothing, affinity, usedAgain int }
	for _, row := range []struct {
		about  string
		change func(*proxier.Proxier)
		want   counts
	}{
		{"nothing has changed", func(*proxier.Proxier) {}, counts{nothing: 1}},
		{"a service comes", add(1, v1.ServiceAffinityNone), counts{nothing: 1}},
		{"one with affinity comes", add(2, v1.ServiceAffinityClientIP), counts{nothing: 1, affinity: 1}},
		{"a service goes", func(p *proxier.Proxier) { p.OnServiceDelete(service(1, v1.ServiceAffinityNone)) }, counts{1, 1, 0}},
		{"another one comes while chains are out of use", add(3, v1.ServiceAffinityNone), counts{1, 1, 0}},
		{"the first one comes back to its chain", add(1, v1.ServiceAffinityNone), counts{1, 1, 1}},
	} {
		row.change(p)
		require.NoError(t, p.Sync(), row.about)
		got := counts{
			config.Marks.Count(mark.RenderNothing), config.Marks.Count(mark.RenderAffinity), config.Marks.Count(mark.RenderUsedAgain),
		}
		assert.Equal(t, row.want, got, row.about)
	}
}

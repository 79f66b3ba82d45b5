package proxier_test

import (
	"fmt"
	"strings"
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

// TestNFTablesAddressOfThreeServices: of those that are left the first by name has the address, in whatever order they go.
func TestNFTablesAddressOfThreeServices(t *testing.T) {
	service := func(name string) *v1.Service {
		return &v1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			Spec: v1.ServiceSpec{
				ClusterIP: "172.30.0." + fmt.Sprint(name[0]), ExternalIPs: []string{"198.51.100.1"}, Ports: []v1.ServicePort{{Port: 80}},
			},
		}
	}
	names := []string{"a", "b", "c"}
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		p, machine, _ := startedNFT(t)
		left := map[string]bool{}
		for _, name := range names {
			p.OnServiceAdd(service(name))
			left[name] = true
		}
		require.NoError(t, p.Sync())
		for _, i := range order {
			p.OnServiceDelete(service(names[i]))
			require.NoError(t, p.Sync())
			delete(left, names[i])
			list, want := machine.nft(t, "list map ip kube-proxy no-endpoint-services"), ""
			for _, name := range names {
				has := strings.Contains(list, `198.51.100.1 . tcp . 80 comment "default/`+name+`" : goto reject-chain`)
				assert.Equal(t, want == "" && left[name], has, "%s of %v after %s has gone", name, left, names[i])
				if want == "" && left[name] {
					want = name
				}
			}
		}
	}
}

package config

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// idle is a consumer that does nothing.
type idle struct{ Handler }

func (idle) OnServiceSynced()        {}
func (idle) OnEndpointSlicesSynced() {}
func (idle) OnNodeSynced()           {}

func BenchmarkWaitDelivered(b *testing.B) {
	for _, consumers := range []int{1, 6} {
		b.Run(fmt.Sprintf("consumers=%d", consumers), func(b *testing.B) {
			informers, err := Watch(b.Context(), fake.NewClientset(), Options{})
			require.NoError(b, err)
			for range consumers {
				_, err := informers.AddConsumer(b.Context(), idle{})
				require.NoError(b, err)
			}
			for b.Loop() {
				require.NoError(b, informers.WaitDelivered(b.Context()))
			}
		})
	}
}

func BenchmarkFakeWrite(b *testing.B) {
	client := fake.NewClientset()
	for n := 0; b.Loop(); n++ {
		_, err := client.CoreV1().Services("shop").Create(b.Context(), service(fmt.Sprint("s", n), "10.96.0.1", nil), metav1.CreateOptions{})
		require.NoError(b, err)
	}
}

package large

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

// Files are where a cluster was written to, as the commands want it.
type Files struct {
	Objects, Config string
	Snapshots       []string
}

// FilesOf are the files of the cluster in a folder, which Write has written.
func FilesOf(dir string) (*Files, error) {
	snapshots, err := filepath.Glob(filepath.Join(dir, "node*.yaml"))
	if err == nil && len(snapshots) == 0 {
		err = fmt.Errorf("%s has no snapshot of a node", dir)
	}
	return &Files{Objects: filepath.Join(dir, objectsFile), Config: filepath.Join(dir, configFile), Snapshots: snapshots}, err
}

const (
	objectsFile = "objects.yaml"
	configFile  = "kube-proxy.yaml"
)

// Write writes the cluster to files in a folder that is there: the objects as one list, as kubectl prints them, kube-proxy's configuration
// and a snapshot of each node.
func (c *Cluster) Write(dir string) error {
	list := metav1.List{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"}}
	for _, o := range c.Objects {
		list.Items = append(list.Items, runtime.RawExtension{Object: o.Object})
	}
	config := c.Config.DeepCopy()
	config.APIVersion, config.Kind = "kubeproxy.config.k8s.io/v1alpha1", "KubeProxyConfiguration"
	if err := errors.Join(write(filepath.Join(dir, objectsFile), list), write(filepath.Join(dir, configFile), config)); err != nil {
		return err
	}
	for _, taken := range c.Snapshots {
		if err := writeSnapshot(filepath.Join(dir, taken.Hostname+".yaml"), taken); err != nil {
			return err
		}
	}
	return nil
}

func write(name string, value any) error {
	text, err := yaml.Marshal(value)
	if err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o644)
}

func writeSnapshot(name string, taken *snapshot.NodeSnapshot) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(taken.Write(f, snapshot.YAML), f.Close())
}

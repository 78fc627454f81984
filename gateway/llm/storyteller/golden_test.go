package storyteller

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the golden transcripts anew")

// The golden transcripts are there to be read: whoever changes a word reads them again as a player would.
func TestGoldenTranscripts(t *testing.T) {
	for _, c := range []struct {
		name  string
		world testWorld
		lines []string
	}{
		{"saltmere.en", saltmere(t), []string{
			"I look at the new lantern.", "I ask Maren about her brother.", "I'll help you find out who lit it.", "I walk to the Drowned Mill.",
			"I knock on the door", "“Tam, when did you last see the pilot boat?”", "I give Old Tam my compass.", "I wait and listen to the wheel.",
			"I go to the Tide House and ask Ysolde Crane about the cut pages", "I hit Ysolde", "who are you?", "i'm sorry", "What can I do?", "I go to the Net Market",
			"Pip, what did you see?",
		}},
		{"wugang.zh", wugang(t), []string{
			"我看看那盏新的灯。", "问阿岚她哥哥的事", "我会帮你查清楚是谁点的灯", "去沉磨坊", "敲门", "“老谭，你最后一次看见引水船是什么时候？”", "把罗盘送给老谭",
			"我静静地听水轮的声音", "去潮房向龙胆打听裁掉的页", "我一拳打向龙胆", "你是谁？", "对不起", "我能做什么？", "我掏出手机拍照", "去渔网集市", "小鱼，你看见了什么？",
		}},
		{"kestrel.en", kestrel(t), []string{
			"look around", "Who is here?", "What is the twentieth pulse?", "I go to the Signal Room", "I ask Juno about the voice", "I read the logs",
			"listen to the tenth frequency", "Juno, come with me", "I float into the Spindle", "wait", "I attack the darkness",
		}},
		{"qinglan.zh", qinglan(t), []string{
			"四下看看", "这里有谁？", "我数着石阶往上走", "去藏经阁", "柳照雪，第六层有什么？", "我悄悄溜上第六层", "向柳照雪道谢", "去剑冢看看那把剑鞘",
			"我拔出剑鞘边的剑", "打坐修炼", "陆青云在哪里？",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := transcript(t, c.world, c.lines)
			file := filepath.Join("testdata", "transcripts", c.name+".txt")
			if *update {
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("the transcript changed; read it, and if it reads well run: go test -run TestGoldenTranscripts -update\n%s", got)
			}
		})
	}
}

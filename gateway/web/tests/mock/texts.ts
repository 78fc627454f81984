/** What the mock tells: enough prose in both languages for a page to look like a page. */

export interface Telling {
  greeting: string;
  formTitle: string;
  fields: { name: string; calling: string; reason: string };
  placeholders: { name: string; reason: string };
  callings: string[];
  template: string;
  submit: string;
  opening: string;
  passages: string[];
  guide: { scene: string; recap: string; decision: string; suggestions: { type: string; text: string }[] };
  labels: Record<'pregame' | 'player-init' | 'narrator' | 'guide', string>;
}

export const english: Telling = {
  greeting:
    'The ferry does not dock at Lanternreach; it slows, and those who want to leave it jump.\n\nBefore your feet touch the quay, the harbour clerk leans over her ledger. “Name and business,” she says, *without looking up*.',
  formTitle: 'The harbour ledger',
  fields: { name: 'Name', calling: 'Calling', reason: 'What brings you here' },
  placeholders: { name: 'As you would sign it', reason: 'One sentence is enough' },
  callings: ['Lamp-keeper', 'Cartographer', 'Salvage diver', 'Runaway scholar'],
  template: 'My name is {{characterName}}. I am a {{calling}}.',
  submit: 'Sign the ledger',
  opening:
    'The clerk blots your name and turns the ledger so that you can see the line above it. It is dated eleven years ago, and it is in your handwriting.\n\n“Curious,” says the clerk. “Ink from a house that burned down before either of us was born, I should think.” She closes the book on her thumb, to keep the place. Behind her the harbour goes on with its evening: nets are hung, a bell counts *four*, and one by one the lamps along the sea wall come up, all but the seventh.\n\nA man in a keeper’s coat stands under the dark lamp with his hat in his hands. He is looking at you as one looks at a door that has opened by itself.\n\n***\n\nThe tide is two hours from the turn.',
  passages: [
    'The keeper does not step back when you come near; he steps aside, as if the dark under the lamp were a room and you had knocked.\n\n“Odran,” he says. “I keep one to nine. I have kept them for eleven years, and for eleven years seven has burned.” He holds out a hand, palm up. In it lies a wick, dry and white, without a trace of soot. “This is tonight’s. I lit it. I watched it burn. And then it had never been lit.”\n\nFrom the water comes the sound of an oar set down with care.',
    'You kneel at the edge. The stone is warm where it should be cold, and between two slabs somebody has pressed a strip of paper, folded small.\n\nIt is a page from the ledger. The ink is your ink. It says: *Do not sign twice.*\n\nAbove you Odran draws a breath to speak, and does not.',
    'The oars stop. A low boat lies under the wall, black on black, and in it sits a woman with a lantern between her knees, unlit.\n\n“Seven is mine,” she says, “by an older book than hers.” She nods toward the clerk’s window, where the light has just gone out. “I will trade you. One question for one answer, and no witness.”\n\nOdran has put his hat back on. It makes him look much older.',
  ],
  guide: {
    scene: 'Under the seventh lamp',
    recap: 'Odran showed you a wick that had never burned. Your name stands in the ledger, eleven years old.',
    decision: 'The tide turns in two hours, and someone in the boat below has heard you. Whom do you trust?',
    suggestions: [
      { type: 'ask', text: 'Who else has seen the ledger?' },
      { type: 'observe', text: 'Look at the seventh lamp from below' },
      { type: 'act', text: 'Climb down to the black boat' },
      { type: 'social', text: 'Tell Odran that I believe him' },
    ],
  },
  labels: {
    pregame: 'The welcome is being written',
    'player-init': 'A form is being laid out',
    narrator: 'The narrator is writing',
    guide: 'The guide looks ahead',
  },
};

export const chinese: Telling = {
  greeting:
    '渡船从不在灯汀靠岸；它只是慢下来，想下船的人便跳。\n\n你的脚还没沾到码头，港务女吏已俯在账簿上。“姓名，来意。”她说，*头也不抬*。',
  formTitle: '港口名册',
  fields: { name: '姓名', calling: '行当', reason: '为何而来' },
  placeholders: { name: '照你平日的签法', reason: '一句话就好' },
  callings: ['守灯人', '绘图师', '打捞客', '逃学的书生'],
  template: '我叫{{characterName}}，是个{{calling}}。',
  submit: '签下名字',
  opening:
    '女吏吸干墨迹，把名册转过来，让你看见上一行。那一行写于十一年前，是你的笔迹。\n\n“奇了。”女吏说，“这墨出自一家早已烧掉的铺子，那时你我都还没出生。”她用拇指夹住那一页，合上名册。她身后，港口照常入夜：渔网挂起，钟敲了*四*下，海堤上的灯一盏接一盏亮起来，只有第七盏没有。\n\n一个穿守灯人外衣的男子站在那盏暗灯底下，帽子拿在手里。他看你的样子，像看一扇自己开了的门。\n\n***\n\n离转潮还有一个时辰。',
  passages: [
    '你走近时，守灯人没有后退，而是侧身一让，仿佛灯下的黑暗是一间屋子，而你刚刚敲过门。\n\n“我叫龙胆。”他说，“一号到九号归我管。我管了十一年，七号也亮了十一年。”他摊开手掌，掌心躺着一根灯芯，又干又白，没有一丝烟痕。“这是今晚的。我点着了它，看着它燃。然后，它就从没被点过。”\n\n水面上传来轻轻放下船桨的声音。',
    '你在堤边跪下。石头本该是冷的，却带着温热；两块石板之间塞着一条纸，折得很小。\n\n是名册上撕下的一页。墨是你的墨。上面写着：*不要签第二次。*\n\n龙胆在你头顶吸了一口气，像要说话，却没有说。',
    '桨声停了。一条矮船泊在堤下，黑上加黑；船里坐着一个女人，膝间夹着一盏没点的灯。\n\n“七号是我的，”她说，“凭的是比她那本更老的册子。”她朝女吏的窗子点点头，那里的灯刚刚熄灭。“我和你换。一问换一答，不要旁人作证。”\n\n龙胆已把帽子戴回头上，看起来老了许多。',
  ],
  guide: {
    scene: '第七盏灯下',
    recap: '龙胆给你看了一根从未燃过的灯芯。你的名字写在名册里，已有十一年。',
    decision: '一个时辰后转潮，堤下船里的人已听见你们。你信谁？',
    suggestions: [
      { type: 'ask', text: '还有谁看过这本名册？' },
      { type: 'observe', text: '从下面看看第七盏灯' },
      { type: 'act', text: '爬下去，上那条黑船' },
      { type: 'social', text: '告诉龙胆我相信他' },
    ],
  },
  labels: {
    pregame: '正在写开场白',
    'player-init': '正在铺开名册',
    narrator: '叙述者正在书写',
    guide: '向导望向前方',
  },
};

export const worlds = [
  {
    id: 'lanternreach',
    names: { en: 'Lanternreach', 'zh-CN': '灯汀' },
    summaries: {
      en: 'A harbour town that exists because its lamps are lit. Tonight one of them is not, and your name is in the ledger of those who knew.',
      'zh-CN': '一座因灯而在的港城。今夜有一盏没亮，而知情者的名册里写着你的名字。',
    },
    tags: { en: ['mystery', 'harbour', 'quiet magic'], 'zh-CN': ['悬疑', '海港', '幽微的法术'] },
    locales: ['en', 'zh-CN'],
    accentColor: '#2f5d62',
    lore: {
      en: '# The lamps\n\nThere are forty lamps on the sea wall, and each keeps one street in the world. Nobody has ever said so aloud; the keepers know it as one knows a stair in the dark.\n\n# The ledger\n\nWhoever lands is written down. Whoever is written down may leave, *once*.',
      'zh-CN':
        '# 灯\n\n海堤上有四十盏灯，每一盏都把一条街留在世上。没有人说破过；守灯人知道它，就像人在黑暗里知道一级台阶。\n\n# 名册\n\n上岸的人都要写下名字。写下名字的人可以离开，*只一次*。',
    },
  },
  {
    id: 'ninefold-peak',
    names: { en: 'Ninefold Peak', 'zh-CN': '九折峰' },
    summaries: {
      en: 'A mountain school of swordplay where every teacher has left, and the lessons go on.',
      'zh-CN': '一座剑派山门，师父们都走了，课却还在上。',
    },
    tags: { en: ['wuxia', 'school'], 'zh-CN': ['武侠', '山门'] },
    locales: ['en', 'zh-CN'],
    accentColor: '#7a2e3a',
    lore: { en: 'Nine bends, nine gates.', 'zh-CN': '九道弯，九重门。' },
  },
  {
    id: 'slow-orbit',
    names: { en: 'Slow Orbit', 'zh-CN': 'Slow Orbit' },
    summaries: {
      en: 'The station has eleven inhabitants and air for nine. Everyone is very polite.',
      'zh-CN': 'The station has eleven inhabitants and air for nine. Everyone is very polite.',
    },
    tags: { en: ['science fiction', 'chamber play'], 'zh-CN': ['science fiction'] },
    locales: ['en'],
    accentColor: '#e8d44d',
    lore: { en: '', 'zh-CN': '' },
  },
] as const;

/** The specifications of the bundled plugins, and two that go wrong. */
export const specs = {
  message: [
    {
      pluginId: 'guide',
      spec: {
        specVersion: 1,
        id: 'guide',
        label: 'Guide',
        icon: 'compass',
        dataSource: { namespace: 'message' },
        emptyState: { message: 'Suggestions appear here after the first page.' },
        view: {
          component: 'Stack',
          props: { gap: 'sm' },
          children: [
            {
              component: 'Text',
              props: { content: { $state: '/entries/0/value/scene' }, size: 'sm', variant: 'muted' },
            },
            { component: 'Prose', props: { content: { $state: '/entries/0/value/recap' } } },
            {
              component: 'Text',
              props: { content: { $state: '/entries/0/value/decision' }, weight: 'bold' },
            },
            {
              component: 'Row',
              props: { gap: 'sm' },
              repeat: { statePath: '/entries/0/value/suggestions', key: 'text' },
              children: [
                {
                  component: 'Button',
                  props: { label: { $item: 'text' }, variant: 'default', size: 'compact' },
                  on: { click: { action: 'draftMessage', params: { text: { $item: 'text' } } } },
                },
              ],
            },
          ],
        },
      },
    },
  ],
  right: [
    {
      pluginId: 'char-creator',
      spec: {
        specVersion: 1,
        id: 'character-sheet',
        group: 'characters',
        groupLabel: 'Character',
        groupOrder: 100,
        label: 'Character sheet',
        icon: 'user',
        alwaysRender: true,
        emptyState: { message: 'Your character appears here once the form is filled in.' },
        view: {
          component: 'Stack',
          props: { gap: 'md' },
          children: [{ component: 'CharacterFieldsView', props: { type: 'player' } }],
        },
      },
    },
    {
      pluginId: 'codex',
      spec: {
        id: 'codex',
        groupOrder: 300,
        label: 'Codex',
        icon: 'book',
        dataSource: { namespace: 'entries' },
        emptyState: { message: 'What you learn about this place is gathered here.' },
        view: {
          component: 'Stack',
          props: { gap: 'md' },
          children: [
            { component: 'SearchInput', props: { label: 'Search', value: { $bindState: '/ui/search' } } },
            {
              component: 'CardList',
              repeat: { statePath: '/entries', key: 'key' },
              children: [
                {
                  component: 'EntryCard',
                  props: {
                    title: { $item: 'value/title' },
                    content: { $item: 'value/text' },
                    category: { $item: 'value/kind' },
                    tags: { $item: 'value/tags' },
                  },
                },
              ],
            },
          ],
        },
      },
    },
    {
      pluginId: 'broken',
      spec: {
        id: 'broken',
        groupOrder: 400,
        label: 'Broken',
        dataSource: { namespace: 'entries' },
        // The list this repeats over is a number: the panel fails, the page does not.
        view: {
          component: 'Stack',
          repeat: { statePath: '/n', key: 'id' },
          children: [{ component: 'Text', props: { content: 'never' } }],
        },
      },
    },
    {
      pluginId: 'forbidden',
      spec: {
        id: 'forbidden',
        groupOrder: 410,
        label: 'Unknown',
        view: { component: 'Iframe', props: { src: 'https://example.com' } },
      },
    },
  ],
  left: [],
};

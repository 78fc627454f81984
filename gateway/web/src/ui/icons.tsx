import Backpack from 'lucide-react/icons/backpack';
import Bell from 'lucide-react/icons/bell';
import Book from 'lucide-react/icons/book';
import BookOpen from 'lucide-react/icons/book-open';
import Calendar from 'lucide-react/icons/calendar';
import Castle from 'lucide-react/icons/castle';
import Circle from 'lucide-react/icons/circle';
import Clock from 'lucide-react/icons/clock';
import Coins from 'lucide-react/icons/coins';
import Compass from 'lucide-react/icons/compass';
import Crown from 'lucide-react/icons/crown';
import Dices from 'lucide-react/icons/dices';
import Eye from 'lucide-react/icons/eye';
import Feather from 'lucide-react/icons/feather';
import Flag from 'lucide-react/icons/flag';
import Flame from 'lucide-react/icons/flame';
import Ghost from 'lucide-react/icons/ghost';
import Globe from 'lucide-react/icons/globe';
import Heart from 'lucide-react/icons/heart';
import House from 'lucide-react/icons/house';
import Info from 'lucide-react/icons/info';
import Key from 'lucide-react/icons/key';
import Leaf from 'lucide-react/icons/leaf';
import Lightbulb from 'lucide-react/icons/lightbulb';
import List from 'lucide-react/icons/list';
import Lock from 'lucide-react/icons/lock';
import MapIcon from 'lucide-react/icons/map';
import MapPin from 'lucide-react/icons/map-pin';
import MessageCircle from 'lucide-react/icons/message-circle';
import Moon from 'lucide-react/icons/moon';
import Mountain from 'lucide-react/icons/mountain';
import Music from 'lucide-react/icons/music';
import Network from 'lucide-react/icons/network';
import Package from 'lucide-react/icons/package';
import Scroll from 'lucide-react/icons/scroll';
import Search from 'lucide-react/icons/search';
import Shield from 'lucide-react/icons/shield';
import Ship from 'lucide-react/icons/ship';
import Skull from 'lucide-react/icons/skull';
import Sparkles from 'lucide-react/icons/sparkles';
import Star from 'lucide-react/icons/star';
import Sun from 'lucide-react/icons/sun';
import Sword from 'lucide-react/icons/sword';
import Swords from 'lucide-react/icons/swords';
import Tag from 'lucide-react/icons/tag';
import Target from 'lucide-react/icons/target';
import Tent from 'lucide-react/icons/tent';
import TreePine from 'lucide-react/icons/tree-pine';
import TriangleAlert from 'lucide-react/icons/triangle-alert';
import User from 'lucide-react/icons/user';
import Users from 'lucide-react/icons/users';
import Wand from 'lucide-react/icons/wand';
import Waves from 'lucide-react/icons/waves';
import type { LucideIcon } from 'lucide-react';

/** The icons that a specification may name, in the names of the icon set. */
const named: Record<string, LucideIcon> = {
  backpack: Backpack,
  bell: Bell,
  book: Book,
  'book-open': BookOpen,
  calendar: Calendar,
  castle: Castle,
  clock: Clock,
  coins: Coins,
  compass: Compass,
  crown: Crown,
  dices: Dices,
  eye: Eye,
  feather: Feather,
  flag: Flag,
  flame: Flame,
  ghost: Ghost,
  globe: Globe,
  heart: Heart,
  home: House,
  info: Info,
  key: Key,
  leaf: Leaf,
  lightbulb: Lightbulb,
  list: List,
  lock: Lock,
  map: MapIcon,
  'map-pin': MapPin,
  'message-circle': MessageCircle,
  moon: Moon,
  mountain: Mountain,
  music: Music,
  network: Network,
  package: Package,
  scroll: Scroll,
  search: Search,
  shield: Shield,
  ship: Ship,
  skull: Skull,
  sparkles: Sparkles,
  star: Star,
  sun: Sun,
  sword: Sword,
  swords: Swords,
  tag: Tag,
  target: Target,
  tent: Tent,
  'tree-pine': TreePine,
  'triangle-alert': TriangleAlert,
  user: User,
  users: Users,
  wand: Wand,
  waves: Waves,
};

const SIZES = { xs: 12, sm: 14, md: 16, lg: 20 } as const;

/** An icon by its name; a plain circle for a name that is not on the list. Decorative unless it has a label. */
export function NamedIcon({
  name,
  size = 'md',
  label,
}: {
  name: string;
  size?: keyof typeof SIZES;
  label?: string;
}) {
  const Glyph = Object.hasOwn(named, name) ? (named[name] as LucideIcon) : Circle;
  return label === undefined ? (
    <Glyph size={SIZES[size]} aria-hidden />
  ) : (
    <Glyph size={SIZES[size]} role="img" aria-label={label} />
  );
}

export const ICON_NAMES: readonly string[] = Object.keys(named);

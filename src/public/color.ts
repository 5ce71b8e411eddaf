// An accent color that people can read, whatever color was chosen.

/** The least contrast of text (WCAG 2.2 AA), with room for rounding. */
const LEAST = 4.6;

type Rgb = readonly [red: number, green: number, blue: number];

function parse(hex: string): Rgb {
  const at = (start: number) => Number.parseInt(hex.slice(start, start + 2), 16);
  return [at(1), at(3), at(5)];
}

function luminance(color: Rgb): number {
  const [red = 0, green = 0, blue = 0] = color.map((each) => {
    const part = each / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** From 1 to 21. Both colors are `#rrggbb`. */
export function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(parse(one)), luminance(parse(other))].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

/** The color itself, or the nearest mixture with black or white that is readable as text on `ground`. */
export function readableOn(ground: string, color: string): string {
  const end = luminance(parse(ground)) > 0.18 ? 0 : 255;
  for (let share = 0; share <= 100; share++) {
    const mixed = parse(color).map((part) => Math.round(part + ((end - part) * share) / 100));
    const hex = `#${mixed.map((part) => part.toString(16).padStart(2, '0')).join('')}`;
    if (contrast(hex, ground) >= LEAST) return hex;
  }
  return end === 0 ? '#000000' : '#ffffff';
}

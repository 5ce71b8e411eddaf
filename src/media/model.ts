/** The types of images, and the endings of their files. */
const extensions = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/gif': 'gif',
  'image/webp': 'webp',
  'image/avif': 'avif',
} as const;

export type ImageType = keyof typeof extensions;

export const imageTypes = Object.keys(extensions) as ImageType[];

export const MAX_IMAGE_BYTES = 10 * 1024 * 1024;

/** A photo of a good phone has 48 megapixels. */
export const MAX_PIXELS = 50_000_000;
export const MAX_SIDE = 16_384;

/** In characters. */
export const MAX_ALT = 500;
export const MAX_NAME = 200;

/** The name of an image's file: in the folder or the bucket, and in its address. */
export function fileNameOf({ id, type }: { id: string; type: ImageType }): string {
  return `${id}.${extensions[type]}`;
}

/** With the prefix: a bucket may hold other images, which are not ours to serve or to remove. */
const FILE_NAME = /^(img_[A-Za-z0-9_-]{1,60})\.(png|jpg|gif|webp|avif)$/;

/** The id and type of a file name; null for any other name. */
export function parseFileName(name: string): { id: string; type: ImageType } | null {
  const [, id = '', extension] = FILE_NAME.exec(name) ?? [];
  const type = imageTypes.find((each) => extensions[each] === extension);
  return type === undefined ? null : { id, type };
}

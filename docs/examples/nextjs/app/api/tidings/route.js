import { revalidatePath } from 'next/cache';
import { Webhook } from 'standardwebhooks';

export async function POST(request) {
  const body = await request.text();
  try {
    new Webhook(process.env.TIDINGS_HOOK_SECRET).verify(body, Object.fromEntries(request.headers));
  } catch {
    return Response.json({ error: 'Invalid signature' }, { status: 401 });
  }
  revalidatePath('/changelog', 'layout');
  return new Response(null, { status: 204 });
}

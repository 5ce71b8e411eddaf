import { Type } from '@sinclair/typebox';
import { draftCompare } from '../../../intake/history/compare.ts';
import { providerOfRepository } from '../../../intake/history/service.ts';
import { AppError } from '../../../lib/app-error.ts';
import { contentTypes } from '../../../posts/model.ts';
import { ProviderProblem } from '../../../providers/api.ts';
import { choiceOf, readFields } from '../../fields.ts';
import { type Answer, get, type MemberVisit, type Page, post, redirect, view } from '../../page.ts';
import { once } from '../../submission.ts';
import { counted } from '../../view/elements.tsx';
import { Field, FormOf, Select } from '../../view/form.tsx';
import { repositoryField } from '../history.tsx';
import { problemOf } from '../integrations/subpage.tsx';
import { withinTime } from '../triggers/preview.tsx';
import { typeOptions } from './words.tsx';

// A draft of the changes between two tags.

const PATH = '/dashboard/:organizationId/posts/~/compare';

const CompareForm = Type.Object({
  repository: repositoryField,
  range: Type.String({
    label: 'Range',
    placeholder: 'v1.2.0..v1.3.0',
    hint: 'Two tags, branches or commits.',
  }),
  contentType: choiceOf(contentTypes, { label: 'Content type', default: contentTypes[0] }),
});

export const routes: readonly Page[] = [
  get(PATH, 'owner', async (visit) => showForm(visit)),
  post(PATH, 'owner', makeDraft),
];

async function makeDraft(visit: MemberVisit): Promise<Answer> {
  const { deps, organization, form, request } = visit;
  deps.extendTimeout?.(request);
  try {
    const fields = readFields(CompareForm, form);
    const type = providerOfRepository(deps, fields.repository);
    const made = await once(deps, form.get('mark'), () =>
      draftCompare(deps, withinTime(deps.compose), { type, organizationId: organization.id, ...fields }),
    );
    if (made === null) return redirect('posts', 'This form was already submitted. There is one draft of it.');
    const { post: draft, leftOut } = made;
    const more = leftOut.length === 0 ? '' : ` ${counted(leftOut.length, 'change')} left out.`;
    return redirect(`posts/${draft.id}`, `Draft written from ${counted(made.commits, 'commit')}.${more}`);
  } catch (error) {
    if (error instanceof ProviderProblem) {
      const type = providerOfRepository(deps, form.get('repository') ?? '');
      return showForm(visit, new AppError(400, problemOf(error, type)));
    }
    if (!(error instanceof AppError) || error.status >= 500) throw error;
    return showForm(visit, error);
  }
}

function showForm({ form, url }: MemberVisit, error?: AppError) {
  return view(
    {
      title: 'Draft from a compare',
      crumbs: [{ to: 'posts', label: 'Posts' }],
      facts: 'The changes between two tags become one draft. Nothing is published.',
      error,
    },
    <FormOf
      schema={CompareForm}
      values={form.size > 0 ? form : { repository: url.searchParams.get('repository') ?? '' }}
      {...{ error, to: 'posts/~/compare', button: 'Create draft', busy: 'Reading changes…', isOnce: true }}
      arrange={({ repository, range, contentType }) => (
        <>
          <Field {...repository} />
          <div class="pair-fields">
            <Field {...range} />
            <Select {...contentType} options={typeOptions} />
          </div>
        </>
      )}
    />,
  );
}

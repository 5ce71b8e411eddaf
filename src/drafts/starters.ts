import type { EventType } from '../events/model.ts';
import type { ContentType } from '../posts/model.ts';
import { builtInTemplates, CHANGES, HIGHLIGHTS, type Templates } from './built-in.ts';

/** Templates to start from. */
export interface Starter extends Templates {
  id: string;
  name: string;
  contentType: ContentType;
}

const withChanges: Record<string, [name: string, body: string]> = {
  contributors: [
    'Changes by group, with contributors',
    `${CHANGES}

{% if authors.size > 0 %}**Contributors:** {{ authors | join: ", " | md }}{% endif %}`,
  ],
  list: [
    'Plain list of changes',
    `{% for change in changes %}- {{ change.text | md }}
{% endfor %}
{{ url }}`,
  ],
  highlights: [
    'Highlights, then all changes',
    `${HIGHLIGHTS}

## All changes

${CHANGES}`,
  ],
};

const notes = `{% if release.notes %}{{ release.notes }}{% else %}${CHANGES}{% endif %}`;

const ofEvent: Record<EventType, Record<string, [name: string, body: string]>> = {
  release: {
    announcement: [
      'Release notes, with version and date',
      `**{{ release.version }}**, {{ release.publishedAt | date: "%B %-d, %Y" }}

${notes}

[Read on]({{ url }})`,
    ],
    ...withChanges,
  },
  push: withChanges,
  pull_request: withChanges,
  issue: withChanges,
  project: {
    announcement: [
      'Summary, with its author',
      `{{ project.summary }}

{% if project.author %}By {{ project.author | md }}{% endif %}

[Open the project]({{ url }})`,
    ],
  },
  project_update: {
    announcement: [
      'Update, with its author',
      `{{ update.body }}

{% if update.author %}By {{ update.author | md }}{% endif %}

[Open the update]({{ url }})`,
    ],
  },
};

/** The built-in templates of each type of post, then variants of the changelog. */
export function startersOf(event: EventType): Starter[] {
  const changelog = builtInTemplates(event, 'changelog');
  const variants = Object.entries(ofEvent[event]).map(
    ([id, [name, body]]): Starter => ({ id, name, contentType: 'changelog', title: changelog.title, body }),
  );
  return [
    { id: 'changelog', name: 'Built-in changelog', contentType: 'changelog', ...changelog },
    {
      id: 'linkedin_post',
      name: 'Built-in LinkedIn post',
      contentType: 'linkedin_post',
      ...builtInTemplates(event, 'linkedin_post'),
    },
    ...variants,
  ];
}

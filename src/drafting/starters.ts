import { type ContentType, contentTypeRules, contentTypes, DEFAULT_CONTENT_TYPE } from '../posts/model.ts';
import type { EventType } from '../providers/events.ts';

export interface Templates {
  title: string;
  body: string;
}

const ROLLING_TITLE = `{% if release %}{{ release.name }}{% else %}Unreleased: {{ repository.fullName }}{% unless isDefaultBranch %} ({{ branch }}){% endunless %}{% endif %}`;

const ISSUES_TITLE = `{% if project %}Done in {{ project.name }}{% elsif team %}Done by {{ team.name }}{% else %}Done{% endif %}`;

const UPDATE_TITLE = `{{ update.about.name }}: {% if update.health %}{{ update.health | downcase }}{% else %}{{ update.about.kind }} update{% endif %}`;

const CHANGES = `{% for group in groups %}### {{ group.name }}

{% for change in group.changes %}- {{ change.line }}
{% endfor %}
{% endfor %}{% if omitted > 0 %}…and {{ omitted }} more changes.

{% endif %}{% if compareUrl %}[All changes]({{ compareUrl }}){% endif %}`;

const TOP = `{% for change in highlights %}- {% if change.isBreaking %}Breaking: {% endif %}{{ change.text | cut: 180 | md }}
{% endfor %}
`;

const HIGHLIGHTS = `${TOP}{% if moreCount > 0 %}And {{ moreCount }} more: {% endif %}{{ url }}`;

const changelog: Record<EventType, Templates> = {
  release: {
    title: '{{ release.name }}',
    body: `{% if release.notes %}{{ release.notes }}{% elsif groups.size > 0 %}${CHANGES}{% else %}{{ release.name | md }} is out.

{{ url }}{% endif %}`,
  },
  push: { title: ROLLING_TITLE, body: CHANGES },
  pull_request: { title: ROLLING_TITLE, body: CHANGES },
  issue: { title: ISSUES_TITLE, body: CHANGES },
  project: {
    title: '{{ project.name }} is complete',
    body: `{% if project.summary %}{{ project.summary }}{% else %}{{ project.name | md }} is complete.{% endif %}

{{ url }}`,
  },
  project_update: {
    title: UPDATE_TITLE,
    body: `{% if update.health %}**{{ update.health }}**

{% endif %}{{ update.body }}

{{ url }}`,
  },
};

// Tags of monorepos name the package: `parser@1.2.0`.
const linkedinPost: Record<EventType, Templates> = {
  release: {
    title: '{{ release.name }}',
    body: `{% if release.isNamed %}{{ release.name | md }}{% else %}{% unless release.tag contains '@' %}{% if repository %}{{ repository.name }} {% endif %}{% endunless %}{{ release.tag | md }} is out{% endif %}

{{ summary | md }}

${HIGHLIGHTS}`,
  },
  push: { title: ROLLING_TITLE, body: `New in {{ repository.name }}:\n\n${HIGHLIGHTS}` },
  pull_request: { title: ROLLING_TITLE, body: `New in {{ repository.name }}:\n\n${HIGHLIGHTS}` },
  issue: {
    title: ISSUES_TITLE,
    body: `{% if project %}New in {{ project.name | md }}{% elsif team %}News from {{ team.name | md }}{% else %}News{% endif %}:\n\n${HIGHLIGHTS}`,
  },
  project: {
    title: changelog.project.title,
    body: `{{ project.name | md }} is complete.\n\n{{ summary | md }}\n\n{{ url }}`,
  },
  project_update: {
    title: UPDATE_TITLE,
    body: `{{ update.about.name | md }}{% if update.health %} is {{ update.health | downcase }}{% endif %}.\n\n{{ summary | md }}\n\n{{ url }}`,
  },
};

const all: Record<ContentType, Record<EventType, Templates>> = { changelog, linkedin_post: linkedinPost };

const ROUNDUP_TITLE = '{{ roundup.name }}: {{ roundup.date }}';

const NOTHING = '{% if changes.size == 0 %}No changes this time.{% endif %}';

const BY_REPOSITORY = `{% for section in sections %}## {% if section.url %}[{{ section.name | md }}]({{ section.url }}){% else %}{{ section.name | md }}{% endif %}

{% for group in section.groups %}### {{ group.name }}

{% for change in group.changes %}- {{ change.line }}
{% endfor %}
{% endfor %}{% if section.omitted > 0 %}…and {{ section.omitted }} more changes.

{% endif %}{% endfor %}${NOTHING}`;

const BY_KIND = `${CHANGES.replace('###', '##')}${NOTHING}`;

const ROUNDUP_POST = `{{ roundup.name | md }}:

${TOP}{% if moreCount > 0 %}And {{ moreCount }} more.{% endif %}${NOTHING}`;

export function roundupTemplates(contentType: ContentType, groupBy: 'repository' | 'kind'): Templates {
  const changelog = groupBy === 'kind' ? BY_KIND : BY_REPOSITORY;
  const bodies: Record<ContentType, string> = { changelog, linkedin_post: ROUNDUP_POST };
  return { title: ROUNDUP_TITLE, body: bodies[contentType] };
}

/** The templates of a trigger that has none of its own. */
export function builtInTemplates(event: EventType, contentType: ContentType): Templates {
  return all[contentType][event];
}

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
  const builtIn = contentTypes.map((contentType): Starter => {
    const name = contentTypeRules[contentType].name.replace(/^[A-Z](?=[a-z]+$)/, (letter) =>
      letter.toLowerCase(),
    );
    return {
      id: contentType,
      name: `Built-in ${name}`,
      contentType,
      ...builtInTemplates(event, contentType),
    };
  });
  const { title } = builtInTemplates(event, DEFAULT_CONTENT_TYPE);
  const variants = Object.entries(ofEvent[event]).map(
    ([id, [name, body]]): Starter => ({ id, name, contentType: DEFAULT_CONTENT_TYPE, title, body }),
  );
  return [...builtIn, ...variants];
}

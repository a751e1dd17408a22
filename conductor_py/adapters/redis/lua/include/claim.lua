-- The claim side of an attempt, `c:<seq>`: flat JSON that only the store writes, in this order.
local CLAIM = '{"k":%d,"held":%d,"until":%d,"leased":%d,"closed":%d,"done":%d,"permit":%d,"polls":%d,'
  .. '"first":%d,"upd":%d,"cb":%d,"at":%d,"w":%s,"prev":%s}'

local function read_claim(text)
  if text then
    return cjson.decode(text)
  end
  return {k = 0, held = 0, ['until'] = 0, leased = 0, closed = 0, done = 0, permit = 0, polls = 0,
    first = 0, upd = 0, cb = 0, at = 0, w = '', prev = ''}
end

local function write_claim(c)
  return string.format(CLAIM, c.k, c.held, c['until'], c.leased, c.closed, c.done, c.permit, c.polls,
    c.first, c.upd, c.cb, c.at, cjson.encode(c.w), cjson.encode(c.prev))
end

-- The nearest deadline of a held attempt: claim end, timeout since the first claim, total deadline; 0: none.
local function nearest_deadline(a, c)
  local at = c['until']
  local total = a.deadline or 0
  if total > 0 and (at == 0 or total < at) then
    at = total
  end
  local tt = a.tt or 0
  if tt > 0 and c.first > 0 and (at == 0 or c.first + tt < at) then
    at = c.first + tt
  end
  return at
end

local function is_open(record, header, seq, a)
  if type(a.st) ~= 'string' then
    error('the state of the attempt cannot be read')
  end
  return not record.terminal and (a.st == 'SCHEDULED' or a.st == 'IN_PROGRESS')
    and a.gen == record.generation and seq >= header_int(header, 'first_seq')
end

-- Was `worker` one of the holders before the present one?
local function held_before(c, worker)
  return string.find('\n' .. c.prev .. '\n', '\n' .. worker .. '\n', 1, true) ~= nil
end

-- Notes the present holder, if any, as one that held it before; the latest ten are known.
local function note_holder(c)
  if c.w == '' or held_before(c, c.w) then
    return
  end
  c.prev = c.prev == '' and c.w or c.w .. '\n' .. c.prev
  local _, cuts = string.gsub(c.prev, '\n', '\n')
  if cuts > 9 then
    c.prev = string.gsub(c.prev, '\n[^\n]*$', '')
  end
end

-- Takes the claim from its holder, whose result will be refused.
local function free_claim(c)
  note_holder(c)
  c.k, c.w = c.k + 1, ''
end

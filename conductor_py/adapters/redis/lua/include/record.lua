-- The field `v`: "<version> <terminal> <generation> <first event> <home> <begun by> <last operation> <status>".
local RECORD = '^(%d+) (%d) (%d+) (%d+) (%S*) (%S*) (%S*) (%S+)$'

local function read_record(text)
  local version, terminal, generation, base, home, begun, last, status = string.match(text, RECORD)
  if not version then
    error('the field v cannot be read')
  end
  return {
    version = tonumber(version), terminal = terminal == '1', generation = tonumber(generation),
    base = tonumber(base), home = home, begun = begun, last = last, status = status,
  }
end

local function write_record(record)
  return string.format('%d %d %d %d %s %s %s %s', record.version, record.terminal and 1 or 0,
    record.generation, record.base, record.home, record.begun, record.last, record.status)
end

-- An integer of the flat header; quotes inside its strings are escaped, so the name is found only as a key.
local function header_int(header, name)
  return tonumber(string.match(header or '', '"' .. name .. '":%s*(%d+)') or 0)
end

-- Is something of an ended execution still to be cleaned up?
local function is_draining(header)
  local drain = string.match(header or '', '"drain":%s*([^,}%s]+)')
  return drain ~= nil and drain ~= 'false' and drain ~= 'null' and drain ~= '0'
end
